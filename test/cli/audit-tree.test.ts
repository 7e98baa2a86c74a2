import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { delegationOf, renamed } from '../journal/told-trees.ts'
import { inProcess, jsonLines, symbi } from '../support/cli.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'
import { family, oneDelegation, type Tale, type ToldRun } from '../support/told-runs.ts'
import { watchedWorld } from '../support/watched-world.ts'

const OWN_KEY = "verified with the project's own key, which is not independent"

interface ToldProject extends TemporaryFolder {
  readonly governed: string
  pathOf(run: ToldRun): string
  audit(...args: readonly string[]): ReturnType<typeof inProcess>
}

/** A project whose journals tell the tale: its signing key is the tale's, and nothing else is in it. */
async function projectOf(tale: Tale): Promise<ToldProject> {
  const folder = await temporaryFolder()
  const governed = folder.of('.symbiont', 'governed')
  mkdirSync(governed, { recursive: true, mode: 0o700 })
  writeFileSync(join(governed, 'audit-signing.key'), Buffer.alloc(32, 1), { mode: 0o600 })
  tale.write(governed)
  for (const run of tale.runs) {
    const seconds = (run.entries.at(-1)?.at ?? 0) / 1_000_000 // as if each had been written when it says
    utimesSync(run.pathIn(governed), seconds, seconds)
  }
  return {
    ...folder,
    governed,
    pathOf: (run) => run.pathIn(governed),
    audit: (...args) => inProcess(['audit', ...args, '--project', folder.path], { env: { COLUMNS: '100' } }),
  }
}

const line = (agent: string, run: ToldRun, records: number | '-', ending: string, result: string): string =>
  `${agent.padEnd(14)}  ${run.runId}  ${String(records).padStart(7)}  ${ending.padEnd(20)}  ${result}`
const short = (text: string): string => text.replace(/([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '$1')

describe('audit verify --tree', () => {
  test('is one line a run, drawn under the one that began it, and exits 0', async () => {
    const { tale, parent, child, grandchild, second } = family()
    await using project = await projectOf(tale)
    const args = ['audit', 'verify', '--tree', 'latest', '--project', project.path]
    const done = await symbi(args, { env: { COLUMNS: '100' } })
    expect([done.code, done.stderr]).toEqual([0, ''])
    expect(done.stdout.split('\n')).toEqual([
      `AGENT           RUN${' '.repeat(35)}RECORDS  ENDING                RESULT`,
      line('agent 1c4ec51c', parent, 28, 'Completed', 'verified'),
      line('├─ reviewer', child, 10, 'Completed', 'verified'),
      line('│  └─ reader', grandchild, 6, 'Completed', 'verified'),
      line('└─ reviewer', second, 6, 'Completed', 'verified'),
      `4 runs: 4 verified, and every link matches; ${OWN_KEY}`,
      '',
    ])
  }, 60_000)

  test('says what is missing, does not verify or does not match, and exits 1', async () => {
    const { tale, parent, child, grandchild, second } = family()
    Object.assign(second.find('Started').event.execution_context as object, { delegation: { target: 'writer' } })
    await using project = await projectOf(tale)
    rmSync(project.pathOf(grandchild))
    const done = await project.audit('verify', '--tree', parent.runId)
    expect(done.code).toBe(1)
    expect(done.stdout.split('\n').slice(1)).toEqual([
      line('agent 1c4ec51c', parent, 28, 'Completed', 'verified'),
      line('├─ reviewer', child, 10, 'Completed', 'verified'),
      line('│  └─ reader', grandchild, '-', '-', 'missing'),
      '│       its journal is missing',
      line('└─ reviewer', second, 6, 'Completed', 'mismatch'),
      '     its journal tells "run_key", "call_id", "call_fingerprint", "target", "child_agent_id",',
      '     "audit", "system_prompt_hash", "message_hash", "parent_agent_id", "parent_audit" differently',
      '     than the link of its parent',
      `4 runs: 2 verified, 1 missing, 1 mismatch; ${OWN_KEY}`,
      '',
    ])
    appendFileSync(project.pathOf(child), 'x\n')
    const invalid = await project.audit('verify', '--tree', parent.runId)
    expect(invalid.code).toBe(1)
    expect(short(invalid.stdout)).toMatch(/├─ reviewer +1ab3c568 +- {2}- +invalid\n│ {4}\S/)
    expect(invalid.stdout).toContain('1 verified, 1 invalid, 1 mismatch')
  })

  test('accepts what a crash leaves, and not with --complete', async () => {
    const { tale, parent, child } = oneDelegation()
    parent.entries.splice(-4)
    const finished = parent.entries.pop()
    expect(finished?.event.kind).toBe('BudgetReservationFinished')
    parent.entries.splice(parent.entries.findIndex(({ event }) => event.kind === 'DelegationFinished'))
    child.entries.splice(-2)
    await using project = await projectOf(tale)
    const done = await project.audit('verify', '--tree', 'latest')
    expect(done.code).toBe(0)
    expect(short(done.stdout).split('\n').slice(1)).toEqual([
      'agent 1c4ec51c  d26ecd32        9  no end (1 unknown)    incomplete',
      '└─ reviewer     1ab3c568        4  no end                incomplete',
      '     its parent does not say how it ended: for the parent the outcome is unknown',
      `2 runs: 2 incomplete, and the link matches; ${OWN_KEY}`,
      '',
    ])
    expect((await project.audit('verify', '--tree', '--complete', 'latest')).code).toBe(1)
  })

  test('judges a delegated run together with the link from the run above it', async () => {
    const { tale, parent, child } = oneDelegation()
    await using project = await projectOf(tale)
    const done = await project.audit('verify', '--tree', child.runId)
    expect([done.code, short(done.stdout).split('\n')[1]]).toEqual([
      0,
      'agent 1c4ec51c (above)  d26ecd32       16  Completed             verified',
    ])
    rmSync(project.pathOf(parent))
    const alone = await project.audit('verify', '--tree', child.runId)
    expect(alone.code).toBe(1)
    expect(short(alone.stdout)).toContain('(above)  d26ecd32        -  -                     missing\n')
  })

  test('is one object a run with --json, and a summary', async () => {
    const { tale, parent, child, grandchild } = family()
    await using project = await projectOf(tale)
    rmSync(project.pathOf(grandchild))
    const done = await project.audit('verify', '--tree', '--json', parent.runId)
    expect(done.code).toBe(1)
    const lines = jsonLines(done.stdout)
    expect(lines).toHaveLength(5)
    expect(lines[0]).toMatchObject({ event: 'run', run_id: parent.runId, depth: 0, parent_run_id: null, link: null })
    expect(lines[1]).toMatchObject({
      event: 'run',
      run_id: child.runId,
      parent_run_id: parent.runId,
      depth: 1,
      name: 'reviewer',
      path: project.pathOf(child),
      result: 'verified',
      records: 10,
      ending: 'Completed',
      problems: [],
      link: { sequence: 6, call_id: 'call-1', target: 'reviewer', audit: { run_id: child.runId } },
    })
    expect(lines[2]).toMatchObject({ result: 'missing', depth: 2, problems: ['its journal is missing'], records: 0 })
    expect(lines[4]).toMatchObject({ event: 'summary', verified: 3, missing: 1, holds: false, independent: false })
  })

  test('needs a run to begin with, and refuses one that does not verify as for a single journal', async () => {
    const { tale, parent } = oneDelegation()
    await using project = await projectOf(tale)
    const none = await project.audit('verify', '--tree')
    expect([none.code, none.stdout]).toEqual([64, ''])
    expect(none.stderr).toContain('USAGE: Cannot verify a tree: no run is named\n')
    appendFileSync(project.pathOf(parent), 'x\n')
    const done = await project.audit('verify', '--tree', parent.runId)
    expect([done.code, done.stdout]).toEqual([1, ''])
    expect(done.stderr).toMatch(/^EVIDENCE_INVALID: Cannot verify the journal /)
    truncateSync(project.pathOf(parent), 0)
    expect((await project.audit('verify', '--tree', parent.runId)).stderr).toContain('it is empty')
  })

  test('is what the verification of the journal alone points to', async () => {
    const { tale, parent } = oneDelegation()
    await using project = await projectOf(tale)
    const done = await project.audit('verify', parent.runId)
    expect([done.code, done.stderr]).toEqual([
      0,
      'It is linked to other runs; --tree verifies them, and the links, as well\n',
    ])
  })

  test('takes evidence that was copied away, with a key that was kept elsewhere', async () => {
    const { tale, parent, child } = oneDelegation()
    await using project = await projectOf(tale)
    const copy = project.of('copy')
    mkdirSync(copy)
    for (const run of [parent, child]) renameSync(project.pathOf(run), run.pathIn(copy))
    const args = ['audit', 'verify', '--tree', parent.pathIn(copy), '--public-key', tale.key.publicHex]
    const done = await inProcess([...args, '--project', '/no/such/project'])
    expect(done.code).toBe(0)
    expect(done.stdout).toContain(
      '2 runs: 2 verified, and the link matches; verified with the public key that was given',
    )
  })
})

describe('audit show of a run that delegates', () => {
  test('draws the tree, then each run under the one that began it', async () => {
    const { tale } = family()
    await using project = await projectOf(tale)
    const done = await symbi(['audit', 'show', 'latest', '--project', project.path], { env: { COLUMNS: '100' } })
    expect([done.code, done.stderr]).toEqual([0, ''])
    const shown = short(done.stdout).split('\n')
    expect(shown.slice(0, 8)).toEqual([
      'AGENT           RUN       RECORDS  ENDING                RESULT',
      'agent 1c4ec51c  d26ecd32       28  Completed             verified',
      '├─ reviewer     1ab3c568       10  Completed             verified',
      '│  └─ reader    7b65947e        6  Completed             verified',
      '└─ reviewer     712a20f7        6  Completed             verified',
      '4 runs: 4 verified, and every link matches',
      '',
      'verified   28 records, 22.1 KiB',
    ])
    expect(shown.filter((text) => text.includes('── run of')).map((text) => text.replace(/ ─+$/, ''))).toEqual([
      '   ── run of reviewer, begun by agent 1c4ec51c at #6',
      '      ── run of reader, begun by reviewer at #4',
      '   ── run of reviewer, begun by agent 1c4ec51c at #18',
    ])
    expect(done.stdout).toMatch(
      /\n {7}started {3}with at most .*\n {7}tokens {4}reserved in the journal of run d26ecd32/,
    )
    expect(done.stdout).toMatch(/\n {8}\+ ended {5}Completed after 1 iteration/)
    expect(Math.max(...done.stdout.split('\n').map((text) => [...text].length))).toBeLessThanOrEqual(100)
  }, 60_000)

  test.each<[string, (path: string) => void]>([
    ['written to', (path) => appendFileSync(path, 'x\n')],
    ['cut to its beginning', (path) => truncateSync(path, readFileSync(path, 'utf8').indexOf('\n', 10) + 1)],
  ])('says of a run that was %s after the table was made that it changed, and goes on', async (_what, change) => {
    const { tale, parent, child } = family()
    await using project = await projectOf(tale)
    let opened = 0
    let changedAt = Number.POSITIVE_INFINITY
    const world = watchedWorld((operation, path) => {
      if (operation !== 'open' || path !== project.pathOf(child)) return
      opened += 1
      if (opened === changedAt) change(path)
    })
    const show = (...more: string[]) =>
      inProcess(['audit', 'show', parent.runId, '--project', project.path, ...more], { world })
    await show()
    changedAt = 2 * opened // the last time that it is opened, which is for its timeline
    const done = await show()
    expect([done.code, done.stderr]).toEqual([0, ''])
    expect(short(done.stdout)).toContain('├─ reviewer     1ab3c568       10  Completed             verified')
    expect(done.stdout).toContain('run of reviewer, begun by agent 1c4ec51c at #6: changed since the table was made')
    expect(done.stdout).toMatch(/── run of reviewer, begun by agent 1c4ec51c at #18/)
  })

  test('tells in the journal of the root who asked the model, and counts for each run what was its own', async () => {
    const { tale } = family()
    await using project = await projectOf(tale)
    const shown = short((await project.audit('show', 'latest')).stdout)
    expect(shown).toContain('    asked     by reviewer 1ab3c568: told/told, up to 30 tokens reserved')
    expect(shown).toContain('    answered  to another run 7b65947e: 10 in, 5 tokens out')
    const totals = [...shown.matchAll(/(\d+) inferences? · (\d+) tokens/g)].map(([, asked, used]) => [asked, used])
    expect(totals).toEqual([
      ['3', '45'],
      ['2', '30'],
      ['1', '15'],
      ['1', '15'],
    ])
    const begun = [...shown.matchAll(/· 0 tool calls(?: · (\d+) delegations?)? · 0 denials/g)].map(([, count]) => count)
    expect(begun).toEqual(['2', '1', undefined, undefined])
    expect([...shown.matchAll(/── iteration (\d)/g)].map(([, number]) => number)).toEqual([...'1231211'])
  })

  test('leaves the others out with --no-follow', async () => {
    const { tale, child } = oneDelegation()
    await using project = await projectOf(tale)
    rmSync(project.pathOf(child))
    const done = await project.audit('show', 'latest', '--no-follow')
    expect(done.code).toBe(0)
    expect(done.stdout).toMatch(/^verified {3}16 records/)
    expect(done.stdout).not.toContain('run of reviewer')
  })

  test('shows what is left when a linked journal is missing, says so first, and exits 1', async () => {
    const { tale, child, grandchild } = family()
    await using project = await projectOf(tale)
    rmSync(project.pathOf(child))
    const done = await project.audit('show', 'latest')
    expect(done.code).toBe(1)
    expect(short(done.stdout)).toContain(
      '├─ reviewer     1ab3c568        -  -                     missing\n│    its journal is missing\n',
    )
    expect(done.stdout).toContain('3 runs: 2 verified, 1 missing\n')
    expect(done.stdout).not.toContain(grandchild.runId)
    expect(done.stdout).toContain('── run of reviewer, begun by agent 1c4ec51c at #18 ──')
  })

  test('shows a run that does not match its link, with what contradicts, and exits 1', async () => {
    const { tale, parent } = oneDelegation()
    Object.assign(parent.find('DelegationFinished').event, { reason: 'Timeout' })
    parent.find('Terminated').event = { ...parent.find('Terminated').event, reason: 'UnconfirmedEffects' }
    await using project = await projectOf(tale)
    const done = await project.audit('show', 'latest')
    expect(done.code).toBe(1)
    expect(done.stdout).toContain(
      '   MISMATCH   its parent recorded that it ended Timeout, and its journal says Completed\n',
    )
  })

  test('exits 2 when somebody must look into a run of the tree', async () => {
    const { tale, parent, child } = oneDelegation()
    parent.entries.splice(parent.entries.findIndex(({ event }) => event.kind === 'DelegationFinished'))
    child.entries.splice(-1)
    await using project = await projectOf(tale)
    expect((await project.audit('show', 'latest')).code).toBe(2)
  })

  test('begins with the link from above when the run was delegated', async () => {
    const { tale, parent, child } = oneDelegation()
    await using project = await projectOf(tale)
    const done = await project.audit('show', child.runId)
    expect(done.code).toBe(0)
    expect(short(done.stdout).split('\n').slice(1, 3)).toEqual([
      'agent 1c4ec51c (above)  d26ecd32       16  Completed             verified',
      'reviewer                1ab3c568        6  Completed             verified',
    ])
    rmSync(project.pathOf(parent))
    expect((await project.audit('show', child.runId)).code).toBe(1)
  })

  test('is every entry of every run with --json, each run behind where it hangs', async () => {
    const { tale, parent, child } = oneDelegation()
    await using project = await projectOf(tale)
    const lines = jsonLines((await project.audit('show', 'latest', '--json')).stdout)
    expect(lines.map(({ event, run_id }) => `${event} ${run_id}`)).toEqual([
      `run ${parent.runId}`,
      `verified ${parent.runId}`,
      ...parent.entries.map(() => `entry ${parent.runId}`),
      `run ${child.runId}`,
      `verified ${child.runId}`,
      ...child.entries.map(() => `entry ${child.runId}`),
    ])
    const above = jsonLines((await project.audit('show', child.runId, '--json')).stdout)
    expect(above[0]).toMatchObject({ event: 'above', run_id: parent.runId, result: 'verified', problems: [] })
  })
})

describe('audit verify of a project whose runs delegate', () => {
  test('says nothing of links that hold', async () => {
    const { tale } = family()
    await using project = await projectOf(tale)
    const done = await project.audit('verify')
    expect(done.code).toBe(0)
    expect(done.stdout.split('\n')).toHaveLength(7)
    expect(done.stdout).toContain('4 journals: 4 verified; ')
  })

  test('finds a journal that only a link knows of, one that contradicts its link, and exits 1', async () => {
    const { tale, grandchild, second } = family()
    Object.assign(second.find('Started').event.execution_context as object, { delegation: undefined })
    await using project = await projectOf(tale)
    rmSync(project.pathOf(grandchild))
    const done = await project.audit('verify')
    expect(done.code).toBe(1)
    expect(short(done.stdout)).toContain(
      '7b65947e        -  -                               missing\n'.replace('-  -', '0  -'),
    )
    expect(short(done.stdout)).toContain('  begun by run 1ab3c568: its journal is missing\n')
    expect(short(done.stdout)).toContain(
      '712a20f7        6  Completed                       mismatch\n  begun by run d26ecd32: its journal does not say that it was delegated\n',
    )
    const lines = jsonLines((await project.audit('verify', '--json')).stdout)
    expect(lines.at(-1)).toMatchObject({ event: 'summary', journals: 4, verified: 2, missing: 1, mismatch: 1, bad: 2 })
    expect(lines.find(({ run_id }) => run_id === second.runId)).toMatchObject({
      result: 'mismatch',
      code: 'EVIDENCE_INVALID',
    })
  })

  test('tells each contradiction once, and nothing more of a journal that does not verify by itself', async () => {
    const { tale, parent, child, second } = family()
    Object.assign(parent.find('DelegationFinished').event, { output_hash: '0'.repeat(64) })
    await using project = await projectOf(tale)
    appendFileSync(project.pathOf(second), 'x\n')
    const lines = jsonLines((await project.audit('verify', '--json')).stdout)
    const found = (run: ToldRun) => lines.filter(({ run_id }) => run_id === run.runId)
    expect(found(child)).toMatchObject([
      {
        result: 'mismatch',
        note: `begun by run ${parent.runId}: its parent recorded another output than its journal`,
      },
    ])
    expect(found(second)).toMatchObject([{ result: 'invalid', note: expect.stringMatching(/^[^;]*record 6[^;]*$/) }])
  })

  test('finds the journal missing that a run names as the one of its parent, and says so of both', async () => {
    const { tale, parent } = oneDelegation()
    await using project = await projectOf(tale)
    rmSync(project.pathOf(parent))
    const done = await project.audit('verify')
    expect(done.code).toBe(1)
    expect(short(done.stdout)).toContain('  it was begun by run d26ecd32, whose journal is not here\n')
    const lines = jsonLines((await project.audit('verify', '--json')).stdout)
    expect(lines.filter(({ run_id }) => run_id === parent.runId)).toMatchObject([
      { result: 'missing', note: expect.stringMatching(/^it began run .*, and its journal is missing$/) },
    ])
  })

  test.each(['child', 'parent'] as const)(
    'misses the journal of a %s that only lies where it was written, which is not here',
    async (which) => {
      const made = oneDelegation()
      const { tale, parent, child } = made
      await using elsewhere = await temporaryFolder()
      await using project = await projectOf(tale)
      // what was copied here links to where it was, and there the journal still is
      const gone = which === 'child' ? child : parent
      if (which === 'child') renamed(made, child.pathIn(elsewhere.path))
      else delegationOf(made).parent_audit = { ...parent.audit, path: parent.pathIn(elsewhere.path) }
      tale.write(project.governed)
      renameSync(project.pathOf(gone), gone.pathIn(elsewhere.path))
      const done = await project.audit('verify', '--json')
      expect(done.code).toBe(1)
      const found = jsonLines(done.stdout).filter(({ run_id }) => run_id === gone.runId)
      expect(found).toMatchObject([{ result: 'missing' }])
    },
  )

  test('finds a run whose parent, which is here, knows nothing of it', async () => {
    const { tale, parent, child } = oneDelegation()
    parent.entries.splice(6, 1)
    parent.entries = parent.entries.filter(({ event }) => event.kind !== 'DelegationFinished')
    await using project = await projectOf(tale)
    const done = await project.audit('verify')
    expect(done.code).toBe(1)
    expect(short(done.stdout)).toContain('  begun by run d26ecd32: it records no delegation to the run below\n')
    expect(done.stdout).toContain(child.runId)
  })

  test('finds links that lead in a circle, where no run is the first', async () => {
    const { tale, parent, child } = oneDelegation()
    const { event } = parent.find('DelegationStarted')
    child.entries.splice(4, 0, {
      ...child.find('PolicyEvaluated'),
      event: { ...event, call_id: 'back', child_agent_id: parent.agentId, audit: parent.audit },
    })
    const back = { ...event, call_id: 'back', parent_agent_id: child.agentId, parent_audit: child.audit }
    Object.assign(parent.find('Started').event.execution_context as object, { delegation: back })
    await using project = await projectOf(tale)
    expect((await project.audit('verify')).code).toBe(1)
  })
})

describe('the latest run', () => {
  test('is the latest that nobody delegated, even when one that it delegated was written to last', async () => {
    const { tale, parent, child } = oneDelegation()
    await using project = await projectOf(tale)
    const later = Date.now() / 1000
    utimesSync(project.pathOf(child), later, later)
    const done = await project.audit('inspect', 'latest')
    expect(JSON.parse(done.stdout)).toMatchObject({ run_id: parent.runId })
  })

  test('is a delegated one where there is no other', async () => {
    const { tale, parent, child } = oneDelegation()
    await using project = await projectOf(tale)
    rmSync(project.pathOf(parent))
    const done = await project.audit('inspect', 'latest')
    expect(JSON.parse(done.stdout)).toMatchObject({ run_id: child.runId })
  })

  test('may be one that cannot be understood: it is not passed over in silence', async () => {
    const { tale, parent } = oneDelegation()
    await using project = await projectOf(tale)
    writeFileSync(project.pathOf(parent), 'x\n')
    expect((await project.audit('inspect', 'latest')).code).toBe(1)
  })
})
