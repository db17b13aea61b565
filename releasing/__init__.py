"""From a tag to what is uploaded: bill of materials, licences, rehearsal. See docs/releasing.md."""
