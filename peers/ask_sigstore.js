// Whether sigstore's own verifier, without its services, accepts a signature: {"line", "key"} in, {"accepted"} out.
// npm install --prefix .peers/sigstore @sigstore/verify@3.1.1 @sigstore/bundle@4.0.0
const { createRequire } = require('module');
const path = require('path');
const crypto = require('crypto');
const fs = require('fs');

const own = createRequire(path.join(__dirname, '..', '.peers', 'sigstore', 'node_modules', 'x.js'));
const { Verifier, toSignedEntity } = own('@sigstore/verify');
const { bundleFromJSON } = own('@sigstore/bundle');

const question = JSON.parse(fs.readFileSync(0, 'utf8'));
const envelope = JSON.parse(question.line);
const bundle = bundleFromJSON({
  mediaType: 'application/vnd.dev.sigstore.bundle+json;version=0.2',
  verificationMaterial: {
    publicKey: { hint: envelope.signatures[0].keyid },
    tlogEntries: [],
    timestampVerificationData: { rfc3161Timestamps: [] },
  },
  dsseEnvelope: envelope,
});
const key = { publicKey: crypto.createPublicKey(question.key), validFor: () => true };
const material = {
  certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [], publicKey: () => key,
};
const none = { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0, tsaThreshold: 0 };
let accepted = true;
try {
  new Verifier(material, none).verify(toSignedEntity(bundle));
} catch (error) {
  if (error.code !== 'SIGNATURE_ERROR') throw error;
  accepted = false;
}
console.log(JSON.stringify({ accepted }));
