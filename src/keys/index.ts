export { type PublicKey, parsePublicKey, type SigningKey, signingKeyOf } from './ed25519.ts'
export { SignatureThreads, type Signed } from './signature-threads.ts'
