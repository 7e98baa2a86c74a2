/**
 * Argon2id, for the secret part of an API key. The library is native and is loaded at the first use, so that a process
 * that never meets a key does not pay for it. Its work runs on the thread pool; callers bound how much of it at once.
 */
import type { World } from '../world/index.ts'

const MEMORY_KIB = 19_456
const PASSES = 2
const LANES = 1

/** PHC text of a new secret, with a salt from the World. */
export async function hashSecret(secret: string, world: World): Promise<string> {
  const { hash } = await import('@node-rs/argon2')
  const salt = world.random.bytes(16)
  return await hash(secret, { memoryCost: MEMORY_KIB, timeCost: PASSES, parallelism: LANES, salt }) // Argon2id, v=19
}

/** True if this secret made this hash, with the costs that the hash names. Text that is no such hash is never made. */
export async function verifySecret(phc: string, secret: string): Promise<boolean> {
  if (!isAffordable(phc)) {
    await spendOneVerification(secret)
    return false
  }
  const { verify } = await import('@node-rs/argon2')
  try {
    return await verify(phc, secret)
  } catch {
    return false // the text has the outline of a hash and is none
  }
}

/** Takes as long as a real verification: what is unknown must not answer faster than what is wrong. */
export async function spendOneVerification(secret: string): Promise<void> {
  const { verify } = await import('@node-rs/argon2')
  await verify(NOBODY, secret)
}

/** The hash of 32 random bytes that nobody kept. */
const NOBODY = '$argon2id$v=19$m=19456,t=2,p=1$SkiYavcnzcEdjItovNBeSQ$HosHDvbN5Nhc8ejod9L4Uq4DKuINRPHPJyVZ4h82BBA'

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{16,172}$/
const MEMORY_KIB_MAX = 1024 * 1024
const PASSES_MAX = 16
const LANES_MAX = 16

/** A hash decides how much memory its own verification takes, so one that asks for the machine is not followed. */
function isAffordable(phc: string): boolean {
  const [, memory, passes, lanes] = PHC.exec(phc) ?? []
  return Number(memory) <= MEMORY_KIB_MAX && Number(passes) <= PASSES_MAX && Number(lanes) <= LANES_MAX
}
