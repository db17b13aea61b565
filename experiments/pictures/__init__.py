"""The pictures of docs/gallery.md: what each is drawn from, text by text."""

from pictures import dissertation, dsg, lugs, pegs, wei

PICTURES = {**dissertation.PICTURES, **pegs.PICTURES, **lugs.PICTURES, **dsg.PICTURES, **wei.PICTURES}
