/**
 * Every journal of the project, verified as far as it is complete. A last line that a crash left unfinished is counted and
 * proves nothing; an empty file belongs to a run that never began.
 */
import { join } from 'node:path'
import { Fault, idOrNull, isFault } from '../../core/index.ts'
import { readSigningKey, SIGNING_KEY_NAME, verifyRunPrefix } from '../../journal/index.ts'
import type { PublicKey } from '../../keys/index.ts'
import type { World } from '../../world/index.ts'
import { counted, type Finding, failed, ok, type Patient, projectOf, warning } from './doctor-rows.ts'

export async function checkJournals(patient: Patient): Promise<Finding> {
  const { world, progress } = patient
  const { governedFolder } = projectOf(patient)
  const names = ((await world.files.list(governedFolder)) ?? []).filter(isOurs).sort()
  if (names.length === 0) return ok('none yet')
  const key = await readSigningKey(world, governedFolder)
  if (key === null) return failed('cannot be verified without the signing key', 'Restore the key from its backup')
  const tally = { verified: 0, empty: 0, atWork: 0, unfinished: [] as string[], bad: [] as string[] }
  for (const [at, name] of names.entries()) {
    progress(`verifying journal ${at + 1} of ${names.length} …`)
    await judge(world, governedFolder, name, key.publicKey, tally)
  }
  return findingOf(tally)
}

function isOurs(name: string): boolean {
  return name !== SIGNING_KEY_NAME && !name.startsWith('.')
}

interface Tally {
  verified: number
  empty: number
  atWork: number
  readonly unfinished: string[]
  readonly bad: string[]
}

async function judge(world: World, folder: string, name: string, key: PublicKey, tally: Tally): Promise<void> {
  const path = join(folder, name)
  try {
    const runId = idOrNull('run', /\.([^.]+)\.jsonl$/.exec(name)?.[1])
    if (runId === null) throw new Fault('EVIDENCE_INVALID', { message: 'its name is not that of a journal' })
    if ((await world.files.lstat(path))?.size === 0) {
      tally.empty += 1
      return
    }
    const prefix = await verifyRunPrefix(world, path, key, runId)
    if (!name.startsWith(`${prefix.agent_id}.`)) {
      throw new Fault('EVIDENCE_INVALID', { message: 'its name says another agent than its entries' })
    }
    tally.verified += 1
    if (prefix.unverified_tail_bytes > 0) tally.unfinished.push(`${name}: its last line was never finished`)
  } catch (error) {
    if (!isFault(error)) throw error
    if (error.code === 'EVIDENCE_CHANGING') tally.atWork += 1
    else tally.bad.push(`${name}: ${error.message}`)
  }
}

function findingOf({ verified, empty, atWork, unfinished, bad }: Tally): Finding {
  const parts = [
    `${verified} verified`,
    ...(empty > 0 ? [`${empty} of runs that never began`] : []),
    ...(atWork > 0 ? [`${atWork} being written`] : []),
    ...(unfinished.length > 0 ? [`${unfinished.length} with an unfinished last line`] : []),
  ]
  if (bad.length > 0) {
    return failed(
      [`${bad.length} cannot be verified`, ...parts].join(', '),
      'Keep them as they are: they are evidence. "symbi audit inspect" says what can still be proved',
      [...bad, ...unfinished],
    )
  }
  if (unfinished.length === 0) return ok(parts.join(', '))
  return warning(
    parts.join(', '),
    `A crash left ${counted(unfinished.length, 'line', 'lines')} unfinished; inspect what these runs did`,
    unfinished,
  )
}
