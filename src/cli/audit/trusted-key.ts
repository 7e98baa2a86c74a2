/** The key that evidence is judged with: one that was kept elsewhere, or else the project's own, which proves less. */
import { Fault } from '../../core/index.ts'
import { readSigningKey } from '../../journal/index.ts'
import { type PublicKey, parsePublicKey } from '../../keys/index.ts'
import type { World } from '../../world/index.ts'
import type { ProjectPaths } from '../project/project-paths.ts'

export interface TrustedKey {
  readonly key: PublicKey
  /** True when the key was given: whoever can write to the project cannot have changed it. */
  readonly independent: boolean
}

export async function trustedKey(
  world: World,
  paths: () => Promise<ProjectPaths>,
  given: string | undefined,
): Promise<TrustedKey> {
  if (given !== undefined) return { key: parsePublicKey(given), independent: true }
  return { key: await projectKey(world, await paths()), independent: false }
}

/** Makes none: a project that never ran has nothing to sign. */
export async function projectKey(world: World, { governedFolder }: ProjectPaths): Promise<PublicKey> {
  const key = await readSigningKey(world, governedFolder)
  if (key !== null) return key.publicKey
  throw new Fault('KEY_INVALID', {
    message: 'Cannot find the key: this project has no signing key',
    hint: 'The first message of a chat makes one. For evidence from elsewhere, give --public-key with the key that was kept',
  })
}

/** What the reader of a result must know about the key. */
export function keySentence({ independent }: TrustedKey): string {
  return independent
    ? 'verified with the public key that was given'
    : "verified with the project's own key, which is not independent"
}

/** The same for programs. */
export function keyFacts(key: TrustedKey): object {
  return { public_key: key.key.hex, independent: key.independent, key_note: keySentence(key) }
}
