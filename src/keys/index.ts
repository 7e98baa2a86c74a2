export { type PublicKey, parsePublicKey, type SigningKey, signingKeyOf } from './ed25519.ts'
export { openSigningKey, readSigningKey, SIGNING_KEY_NAME } from './signing-key-file.ts'
