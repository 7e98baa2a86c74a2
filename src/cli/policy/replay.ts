/**
 * `symbi policy replay`: the decisions of journals, judged again by candidate policies. Exits 3 when a decision would change,
 * 0 when none would, and otherwise when that cannot be said: a journal that does not verify is no evidence, and while one is
 * left out, or a decision was recorded without what policy was asked, "nothing changes" would be a guess.
 */
import { isFault, messageOf } from '../../core/index.ts'
import { Candidates, type Replay, replayRun, Surfaces, Tally } from '../../replay/index.ts'
import type { JournalFile } from '../audit/find-journal.ts'
import { progressOf } from '../audit/progress.ts'
import { isEmptyJournal, judged, requireAgent } from '../audit/read-run.ts'
import { keyFacts, keySentence, type TrustedKey, trustedKey } from '../audit/trusted-key.ts'
import type { Cli, CommonOptions } from '../cli.ts'
import { folderPaths, type ProjectPaths, projectPaths } from '../project/project-paths.ts'
import { journalsIn } from './replay-journals.ts'
import { type Refused, type ReplayPage, replayPage } from './show-replay.ts'

export interface ReplayFlags {
  readonly policies?: string
  readonly surface?: string
  readonly publicKey?: string
  readonly all?: true
}

const CHANGED_EXIT = 3
const LEFT_OUT_EXIT = 1

export async function replay(
  cli: Cli,
  options: ReplayFlags & CommonOptions,
  wanted: readonly string[],
): Promise<number> {
  const { world, console } = cli
  let project: Promise<ProjectPaths> | null = null
  const paths = (): Promise<ProjectPaths> => {
    project ??= projectPaths(world, options.project)
    return project
  }
  const folder = options.policies ?? (await folderPaths(world, options.project)).policyFolder
  const journals = await journalsIn(world, paths, wanted)
  const key = await trustedKey(world, paths, options.publicKey)
  using candidates = new Candidates(world, { folder })
  await candidates.check(options.surface ?? null)
  const surface = options.surface ?? new Surfaces(world, key.key)
  const page = replayPage(cli, options)
  const tally = new Tally()
  let [refused, empty, unfinished] = [0, 0, 0]
  for (const [index, { name, file }] of journals.entries()) {
    const progress = progressOf(cli, `${index + 1} of ${journals.length}: ${name}`)
    const found = await outcomeOf(name, file, async (journal) =>
      judged(world, journal, async () => {
        const replayed = await replayRun({ world, key: key.key, candidates, surface }, journal, { progress })
        requireAgent(journal, replayed.agent_id)
        return replayed
      }),
    )
    if (found.kind === 'refused') {
      refused += 1
      page.refused(found)
      continue
    }
    if (found.kind === 'empty') {
      empty += 1
      continue
    }
    if (!found.replay.ended) unfinished += 1
    tally.add(found.replay)
    for (const difference of found.replay.differences) page.difference(name, difference)
  }
  console.progress('')
  const counts = { journals: journals.length, refused, empty, unfinished }
  end(cli, page, { tally, ...counts, folder, surface: options.surface ?? null, key })
  if (refused > 0) return LEFT_OUT_EXIT
  if (tally.changed() > 0) return CHANGED_EXIT
  return tally.unknown > 0 ? LEFT_OUT_EXIT : 0
}

type Outcome =
  | { readonly kind: 'replayed'; readonly replay: Replay }
  | ({ readonly kind: 'refused' } & Refused)
  /** Its run never began, so nothing was decided. */
  | { readonly kind: 'empty' }

async function outcomeOf(
  name: string,
  file: JournalFile | null,
  judge: (file: JournalFile) => Promise<Replay>,
): Promise<Outcome> {
  const refusal = (code: string, reason: string): Outcome => ({ kind: 'refused', journal: name, code, reason })
  if (file === null) return refusal('EVIDENCE_INVALID', 'its name does not say which run it is of')
  try {
    return { kind: 'replayed', replay: await judge(file) }
  } catch (error) {
    if (isEmptyJournal(error)) return { kind: 'empty' }
    if (!isFault(error, 'EVIDENCE_INVALID', 'EVIDENCE_CHANGING', 'SURFACE_UNKNOWN')) throw error
    return refusal(error.code, messageOf(error))
  }
}

interface End {
  readonly tally: Tally
  readonly journals: number
  readonly refused: number
  readonly empty: number
  readonly unfinished: number
  readonly folder: string
  readonly surface: string | null
  readonly key: TrustedKey
}

function end({ console }: Cli, page: ReplayPage, { tally, key, folder, surface, ...counts }: End): void {
  page.summary({ tally, ...counts, facts: { policies_dir: folder, surface, ...keyFacts(key) } })
  console.note(keySentence(key))
}
