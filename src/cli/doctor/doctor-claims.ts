/**
 * The scan that no request ever pays for: what became of every invocation of the project. An unresolved one is a question for
 * an operator and no defect; a claim that cannot be understood is one.
 */
import { join } from 'node:path'
import { Fault, isFault, isJsonObject, parseId, readJson } from '../../core/index.ts'
import { type ClaimStore, fileClaims } from '../../invocations/index.ts'
import { openPrivateFile } from '../../store/index.ts'
import type { World } from '../../world/index.ts'
import { type Finding, failed, ok, type Patient, projectOf, warning } from './doctor-rows.ts'

type State = 'recorded' | 'reconciled' | 'unresolved' | 'at work'

export async function checkClaims(patient: Patient): Promise<Finding> {
  const { world, progress } = patient
  const { root, stateFolder } = projectOf(patient)
  const folder = join(stateFolder, 'invocations')
  const names = ((await world.files.list(folder)) ?? []).filter((name) => name.endsWith('.jsonl')).sort()
  if (names.length === 0) return ok('none yet')
  const claims = fileClaims(world, root)
  const counts: Record<State, number> = { recorded: 0, reconciled: 0, unresolved: 0, 'at work': 0 }
  const unresolved: string[] = []
  const bad: string[] = []
  for (const [at, name] of names.entries()) {
    progress(`reading claim ${at + 1} of ${names.length} …`)
    try {
      const head = await headOf(world, join(folder, name))
      const state = await stateOf(claims, head)
      counts[state] += 1
      if (state === 'unresolved') unresolved.push(head === null ? name : `${head.scope} ${head.id}`)
    } catch (error) {
      if (!isFault(error)) throw error
      bad.push(`${name}: ${error.message}`)
    }
  }
  const found = Object.entries(counts).flatMap(([state, count]) => (count > 0 ? [`${count} ${state}`] : []))
  if (bad.length > 0) {
    return failed(
      [`${bad.length} cannot be judged`, ...found].join(', '),
      'Keep the files as evidence; their ids never run again',
      [...bad, ...unresolved],
    )
  }
  if (unresolved.length === 0) return ok(found.join(', '))
  return warning(
    found.join(', '),
    'Find out what their effects did, then use "symbi invocation inspect" and "symbi invocation reconcile"',
    unresolved,
  )
}

interface Head {
  readonly scope: string
  readonly id: string
  /** Without a second line the claim names no journal: its run never began, and there is nothing to judge. */
  readonly namesJournal: boolean
}

async function stateOf(claims: ClaimStore, head: Head | null): Promise<State> {
  if (head === null || !head.namesJournal) return 'unresolved'
  try {
    return (await claims.inspect(head.scope, parseId('invocation', head.id), new AbortController().signal)).status
  } catch (error) {
    if (isFault(error, 'OWNER_ALIVE')) return 'at work'
    throw error
  }
}

/** Whose claim it is; null where a crash left less than a line. Everything else is read and judged by its store. */
async function headOf(world: World, path: string): Promise<Head | null> {
  await using file = await openPrivateFile(world, path, 'read', { what: 'invocation claim', bytesMax: 2 * 1024 * 1024 })
  const text = file === null ? '' : Buffer.from(await file.readAll(2 * 1024 * 1024)).toString('utf8')
  const [first, second] = text.split('\n').slice(0, -1)
  if (first === undefined) return null
  const claim = readJson(first)
  if (isJsonObject(claim) && typeof claim.scope === 'string' && typeof claim.id === 'string') {
    return { scope: claim.scope, id: claim.id, namesJournal: second !== undefined }
  }
  throw new Fault('CLAIM_INVALID', { message: 'its first line does not say whose it is' })
}
