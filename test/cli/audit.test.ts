import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { appendFile, rename, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openRuntime, scripted } from '../../src/runtime/index.ts'
import { inProcess, jsonLines, symbi } from '../support/cli.ts'
import { AGENT, madeKey, makeLines, OTHER_AGENT, OTHER_RUN, RUN, TERMINATED } from '../support/journal-maker.ts'
import { HEALTH_SCRIPT, type TestProject, testProject, world } from './support.ts'

const OWN_KEY = "verified with the project's own key, which is not independent"

/** Turns that ran in this process, with their journals and claims. */
async function ranProject(...texts: readonly string[]): Promise<TestProject & { readonly runs: readonly string[] }> {
  const project = await testProject()
  const runs: string[] = []
  await using runtime = await openRuntime({
    project: project.path,
    provider: await scripted({ text: HEALTH_SCRIPT }, world),
  })
  for (const text of texts) {
    await runtime.ask(text, {
      onMessage: (message) => {
        if (message.type === 'AuditOpened') runs.push(message.audit.run_id)
      },
    })
  }
  return { ...project, runs }
}

const pathOf = (project: TestProject, run = ''): string =>
  join(project.governed, project.journals().find((name) => name.includes(run)) ?? 'none')

describe('audit verify of one journal', () => {
  test('says how it ended, and that the key of the project is not independent', async () => {
    await using project = await ranProject('Inspect')
    const done = await inProcess(['audit', 'verify', pathOf(project), '--project', project.path])
    expect([done.code, done.stderr]).toEqual([0, ''])
    expect(done.stdout).toBe(`verified: run ${project.runs[0]}, 20 records, ended Completed\n${OWN_KEY}\n`)
  })

  test('takes a key that was kept elsewhere, away from the project, and then says so', async () => {
    await using project = await ranProject('Inspect')
    const key = (await inProcess(['audit', 'key', '--project', project.path])).stdout.trim()
    const copy = project.of('evidence.jsonl')
    copyFileSync(pathOf(project), copy)
    const args = ['audit', 'verify', copy, '--run-id', project.runs[0] ?? '', '--public-key', key]
    const done = await inProcess([...args, '--project', '/no/such/project'])
    expect(done.stdout).toMatch(/^verified: .*\nverified with the public key that was given\n$/)
    const json = jsonLines((await inProcess([...args, '--json'])).stdout)
    expect(json).toMatchObject([{ result: 'verified', ending: 'Completed', independent: true, public_key: key }])
  })

  test('of a folder verifies every journal that was copied into it, with the key that was kept', async () => {
    await using project = await ranProject('Inspect', 'again')
    const key = (await inProcess(['audit', 'key', '--project', project.path])).stdout.trim()
    const copies = project.of('copies')
    mkdirSync(copies)
    const verify = (place: string, ...more: readonly string[]) =>
      inProcess(['audit', 'verify', place, '--public-key', key, '--project', '/no/such/project', ...more])
    expect(await verify(copies)).toMatchObject({ code: 1, stderr: expect.stringContaining('it holds no journals') })
    for (const name of project.journals()) copyFileSync(join(project.governed, name), join(copies, name))
    const done = await verify(`${copies}/`)
    expect([done.code, done.stderr]).toEqual([0, ''])
    for (const run of project.runs) expect(done.stdout).toMatch(new RegExp(`^${run} +\\d+  Completed +verified$`, 'm'))
    expect(done.stdout).toContain('2 journals: 2 verified; verified with the public key that was given\n')
    await truncate(join(copies, project.journals()[0] ?? ''), 100)
    expect(await verify(copies, '--complete')).toMatchObject({ code: 1, stdout: expect.stringContaining('1 verified') })
    expect((await verify(copies, '--tree')).code).toBe(64)
    const shown = await inProcess(['audit', 'show', copies, '--public-key', key])
    expect(shown.stderr).toContain('Cannot verify the journal "copies": it is a folder\n')
  })

  test('of the folder of the project asks its claims too', async () => {
    await using project = await ranProject('Inspect')
    await rm(pathOf(project))
    const done = await inProcess(['audit', 'verify', project.governed, '--project', project.path])
    expect([done.code, done.stdout]).toEqual([1, expect.stringContaining('a claim names this journal, and it is gone')])
  })

  const DAMAGE: readonly (readonly [
    string,
    (path: string, project: TestProject) => string | Promise<string>,
    RegExp,
  ])[] = [
    [
      'edited',
      (path) => {
        writeFileSync(path, readFileSync(path, 'utf8').replace('system_health', 'system_wealth'))
        return path
      },
      /record \d+ .*signature does not fit/,
    ],
    [
      'edited in its last record',
      (path) => {
        writeFileSync(path, readFileSync(path, 'utf8').replace('"reason":"Completed"', '"reason":"Timeout"'))
        return path
      },
      /record 19 .*signature does not fit/,
    ],
    [
      'reordered',
      (path) => {
        const [a, b, c, ...rest] = readFileSync(path, 'utf8').split('\n')
        writeFileSync(path, [a, c, b, ...rest].join('\n'))
        return path
      },
      /record 1 .*does not continue/,
    ],
    [
      'cut off at its beginning',
      (path) => {
        writeFileSync(path, readFileSync(path, 'utf8').split('\n').slice(1).join('\n'))
        return path
      },
      /record 0 .*does not continue/,
    ],
    [
      'cut off at its end, while its claim has a result',
      async (path) => {
        const text = readFileSync(path, 'utf8')
        await truncate(path, Buffer.byteLength(text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1)))
        return path
      },
      /its claim has a recorded result, so the end of this journal was cut off/,
    ],
    [
      'cut off in the middle of its last line, while its claim has a result',
      async (path) => {
        await truncate(path, readFileSync(path).length - 5)
        return path
      },
      /was cut off .*bytes of an unfinished last line/,
    ],
    [
      'emptied',
      async (path) => {
        await truncate(path, 0)
        return path
      },
      /was cut off \(it is empty/,
    ],
    [
      'renamed',
      async (path, project) => {
        const other = project.of('renamed.jsonl')
        await rename(path, other)
        return other
      },
      /its name does not say which run it is of/,
    ],
    [
      'renamed to another run',
      async (path, project) => {
        const other = project.of(`${AGENT}.${OTHER_RUN}.jsonl`)
        await rename(path, other)
        return other
      },
      /belongs to another run/,
    ],
    [
      'renamed to another agent',
      async (path, project) => {
        const other = project.of(`${OTHER_AGENT}.${path.split('.').at(-2)}.jsonl`)
        await rename(path, other)
        return other
      },
      /of another agent than its name/,
    ],
    [
      'a link',
      (path, project) => {
        const link = project.of(path.split('/').at(-1) ?? '')
        symlinkSync(path, link)
        return link
      },
      /leads to no regular file/,
    ],
    [
      'a folder',
      (_path, project) => {
        const folder = project.of(`${AGENT}.${RUN}.jsonl`)
        mkdirSync(folder)
        return folder
      },
      /it is a folder where a regular file is needed/,
    ],
    ['not there', (_path, project) => project.of(`${AGENT}.${RUN}.jsonl`), /there is no such file/],
    [
      'signed by another key',
      (_path, project) => {
        const path = project.of(`${AGENT}.${RUN}.jsonl`)
        writeFileSync(path, Buffer.concat(makeLines({ key: madeKey(9), events: [TERMINATED] })))
        return path
      },
      /record 0 .*does not fit the payload and the given key/,
    ],
  ]

  test.each(DAMAGE)('refuses a journal that is %s', async (_what, damage, reason) => {
    await using project = await ranProject('Inspect')
    const path = await damage(pathOf(project), project)
    const done = await inProcess(['audit', 'verify', path, '--project', project.path])
    expect([done.code, done.stdout]).toEqual([1, ''])
    expect(done.stderr).toMatch(/^EVIDENCE_INVALID: Cannot verify .*\nhint: .+\n$/)
    expect(done.stderr).toMatch(reason)
    const elsewhere = await inProcess(['audit', 'show', path, '--project', project.path])
    if (!reason.source.includes('cut off')) expect([elsewhere.code, elsewhere.stdout]).toEqual([1, ''])
  })

  test('accepts a sound beginning and says that the end is missing, unless it must be complete', async () => {
    await using project = await ranProject('Inspect')
    await rm(project.of('.symbiont', 'invocations'), { recursive: true }) // as for evidence that was copied away
    await appendFile(pathOf(project), 'torn')
    const torn = await inProcess(['audit', 'verify', 'latest', '--project', project.path])
    expect(torn.code).toBe(0)
    expect(torn.stdout).toContain('incomplete: run ')
    expect(torn.stdout).toContain('the beginning is verified; 4 bytes of an unfinished last line are left out\n')
    const strict = await inProcess(['audit', 'verify', 'latest', '--complete', '--project', project.path])
    expect([strict.code, strict.stdout]).toEqual([1, ''])
    await truncate(pathOf(project), 0)
    const empty = await inProcess(['audit', 'verify', pathOf(project), '--project', project.path])
    expect([empty.code, empty.stdout]).toEqual([1, ''])
    expect(empty.stderr).toContain('it is empty: its run never began')
  })

  test('reads the legacy format, which names no run', async () => {
    await using project = await ranProject()
    const key = madeKey(9)
    const path = project.of(`${AGENT}.jsonl`)
    writeFileSync(path, Buffer.concat(makeLines({ key, version: 1, events: [TERMINATED] })))
    const done = await inProcess(['audit', 'verify', path, '--public-key', key.publicHex])
    expect([done.code, done.stdout.split('\n')[1]]).toEqual([0, 'legacy format'])
    expect((await inProcess(['audit', 'inspect', path, '--public-key', key.publicHex])).code).toBe(1)
  })
})

describe('audit verify of a project', () => {
  test('is a table of every journal, and exits 0 while nothing is wrong', async () => {
    await using project = await ranProject('Inspect', 'again')
    await symbi(['audit', 'verify', '--project', project.path]).then((done) => {
      expect([done.code, done.stderr]).toEqual([0, ''])
      expect(done.stdout.split('\n')).toEqual([
        'RUN                                   RECORDS  ENDING                          RESULT',
        `${project.runs[0]}       20  Completed                       verified`,
        `${project.runs[1]}       11  Completed                       verified`,
        `2 journals: 2 verified; ${OWN_KEY}`,
        '',
      ])
    })
  }, 60_000)

  test('tells incomplete and empty journals, and exits 1 for them only with --complete', async () => {
    await using project = await ranProject('Inspect', 'again', 'again')
    await rm(project.of('.symbiont', 'invocations'), { recursive: true })
    const text = readFileSync(pathOf(project, project.runs[0]), 'utf8')
    await truncate(pathOf(project, project.runs[0]), Buffer.byteLength(text.split('\n').slice(0, 5).join('\n')) + 1)
    await truncate(pathOf(project, project.runs[1]), 0)
    const done = await inProcess(['audit', 'verify', '--project', project.path])
    expect(done.code).toBe(0)
    expect(done.stdout).toContain(`${project.runs[0]}        5  -                               incomplete\n`)
    expect(done.stdout).toContain('  the beginning is verified; no end of the run: it was interrupted, or is at work\n')
    expect(done.stdout).toContain(`${project.runs[1]}        0  -                               empty\n`)
    expect(done.stdout).toContain('3 journals: 1 verified, 1 incomplete, 1 empty; ')
    expect((await inProcess(['audit', 'verify', '--complete', '--project', project.path])).code).toBe(1)
  })

  test.each(['incomplete', 'empty'] as const)(
    'with --complete one journal that is %s is enough to exit 1, in a project and in a folder',
    async (kind) => {
      await using project = await ranProject('Inspect', 'again')
      await rm(project.of('.symbiont', 'invocations'), { recursive: true })
      const path = pathOf(project, project.runs[0])
      const [first = ''] = readFileSync(path, 'utf8').split('\n')
      await truncate(path, kind === 'empty' ? 0 : Buffer.byteLength(first) + 1)
      const key = (await inProcess(['audit', 'key', '--project', project.path])).stdout.trim()
      for (const where of [
        ['--project', project.path],
        [project.governed, '--public-key', key, '--project', '/no/such/project'],
      ]) {
        const done = await inProcess(['audit', 'verify', ...where])
        expect([done.code, done.stdout]).toEqual([0, expect.stringContaining(`2 journals: 1 verified, 1 ${kind}; `)])
        const strict = await inProcess(['audit', 'verify', '--complete', '--json', ...where])
        expect([strict.code, jsonLines(strict.stdout).at(-1)]).toMatchObject([1, { bad: 1, verified: 1, [kind]: 1 }])
      }
    },
  )

  test('finds what was edited, renamed, cut off or taken away, and exits 1', async () => {
    await using project = await ranProject('Inspect', 'again', 'again', 'again')
    const [edited = '', renamed = '', cutOff = '', gone = ''] = project.runs
    writeFileSync(pathOf(project, edited), readFileSync(pathOf(project, edited), 'utf8').replace('healthy', 'wealthy'))
    await rename(pathOf(project, renamed), join(project.governed, 'backup.jsonl'))
    const text = readFileSync(pathOf(project, cutOff), 'utf8')
    await truncate(
      pathOf(project, cutOff),
      Buffer.byteLength(text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1)),
    )
    await rm(pathOf(project, gone))
    const done = await inProcess(['audit', 'verify', '--json', '--project', project.path])
    expect(done.code).toBe(1)
    const lines = jsonLines(done.stdout)
    const results = Object.fromEntries(lines.map((line) => [line.run_id ?? line.journal, [line.result, line.note]]))
    expect(results[edited]).toEqual(['invalid', expect.stringContaining('signature does not fit')])
    expect(results['backup.jsonl']).toEqual(['invalid', expect.stringContaining('its name is not AGENT.RUN.jsonl')])
    expect(results[renamed]).toEqual(['missing', 'a claim names this journal, and it is gone'])
    expect(results[cutOff]).toEqual(['invalid', expect.stringContaining('was cut off')])
    expect(results[gone]).toEqual(['missing', 'a claim names this journal, and it is gone'])
    expect(lines.at(-1)).toMatchObject({ event: 'summary', journals: 5, invalid: 3, missing: 2, bad: 5 })
  })

  test('refuses every journal under a key that is not theirs, and a project without a key', async () => {
    await using project = await ranProject('again')
    const other = await inProcess(['audit', 'verify', '--public-key', madeKey(9).publicHex, '--project', project.path])
    expect(other.code).toBe(1)
    expect(other.stdout).toContain('1 journal: 1 invalid; verified with the public key that was given\n')
    await using empty = await testProject()
    const none = await inProcess(['audit', 'verify', '--project', empty.path])
    expect([none.code, none.stdout]).toEqual([78, ''])
    expect(none.stderr).toContain('KEY_INVALID: Cannot find the key: this project has no signing key\n')
  })
})

describe('audit key', () => {
  test('prints 64 hex digits and nothing else', async () => {
    await using project = await ranProject('again')
    const done = await inProcess(['audit', 'key', '--project', project.path])
    expect(done.stdout).toMatch(/^[0-9a-f]{64}\n$/)
    const json = jsonLines((await inProcess(['audit', 'key', '--json', '--project', project.path])).stdout)
    expect(json).toEqual([{ public_key: done.stdout.trim(), algorithm: 'ed25519' }])
  })

  test('makes no key and no folder where there is none', async () => {
    await using project = await testProject()
    const before = readdirSync(project.of('.symbiont')).sort()
    const done = await inProcess(['audit', 'key', '--project', project.path])
    expect([done.code, done.stdout]).toEqual([78, ''])
    expect(readdirSync(project.of('.symbiont')).sort()).toEqual(before)
    expect(existsSync(project.governed)).toBe(false)
  })
})

describe('audit inspect', () => {
  test('is the recovery report, and exits 0 when nothing is open', async () => {
    await using project = await ranProject('Inspect')
    const done = await inProcess(['audit', 'inspect', pathOf(project), '--project', project.path])
    expect(done.code).toBe(0)
    const report = JSON.parse(done.stdout)
    expect(Object.keys(report)).toEqual([
      'run_id',
      'agent_id',
      'verified_records',
      'verified_bytes',
      'unverified_tail_bytes',
      'journal_complete',
      'terminal_reason',
      'requires_reconciliation',
      'untracked_tool_approvals',
      'effects',
      'warnings',
      'recovered_budget',
    ])
    expect(report).toMatchObject({ run_id: project.runs[0], journal_complete: true, terminal_reason: 'Completed' })
    expect((await inProcess(['audit', 'inspect', 'latest', '--json', '--project', project.path])).stdout).toBe(
      `${JSON.stringify(report)}\n`,
    )
  })

  test('exits 2 when somebody must reconcile, an unfinished last line included, and leaves the file as it is', async () => {
    await using project = await ranProject('Inspect')
    await appendFile(pathOf(project), '{"payload":')
    const before = readFileSync(pathOf(project))
    const done = await inProcess(['audit', 'inspect', pathOf(project), '--project', project.path])
    expect(done.code).toBe(2)
    expect(JSON.parse(done.stdout)).toMatchObject({ unverified_tail_bytes: 11, requires_reconciliation: true })
    expect(readFileSync(pathOf(project))).toEqual(before)
  })
})

describe('audit show', () => {
  test('is a timeline: asked, proposed, decided, begun, come back, ended', async () => {
    await using project = await ranProject('Inspect')
    const done = await symbi(['audit', 'show', 'latest', '--project', project.path], { env: { COLUMNS: '80' } })
    expect([done.code, done.stderr]).toEqual([0, ''])
    const tags = [...done.stdout.matchAll(/^ {2}[ +x?] (\w+) .* #\d+(?: \+\S+ \w+)?$/gm)].map(([, tag]) => tag)
    expect(tags).toEqual([
      'started',
      ...['asked', 'answered', 'proposed', 'allowed', 'intent', 'receipt', 'result'],
      ...['asked', 'answered', 'proposed', 'allowed', 'ended'],
    ])
    expect(done.stdout).toMatch(/^verified {3}20 records, .*\n {11}verified with the project's own key, which is not/)
    expect(done.stdout).toContain('+ allowed   system_health  by "default#2"')
    expect(done.stdout).toMatch(/── iteration 2 {2}at \d+ ms ─+\n/)
    expect(done.stdout).toMatch(/ {2}2 inferences · 4 tokens · 1 tool call · 0 denials · 0 unknown · [\d.]+ m?s\n$/)
    expect(done.stdout).not.toContain('\u001b')
    expect(Math.max(...done.stdout.split('\n').map((line) => [...line].length))).toBeLessThanOrEqual(80)
  }, 60_000)

  test('lets a denial stand out with its reason, and finds a run by the beginning of its id', async () => {
    await using project = await ranProject('forbidden', 'again')
    const run = project.runs[0]?.slice(0, 8) ?? ''
    const done = await inProcess(['audit', 'show', run, '--project', project.path])
    expect(done.stdout).toMatch(/ {2}x DENIED {4}list_agents +#5/)
    expect(done.stdout).toContain('policy does not allow Action::"tool_call::list_agents" for')
    expect(done.stdout).toContain('· 1 denial ·')
  })

  test('names the policy that failed as the one that denied, and not a permit that would have matched', async () => {
    await using project = await testProject()
    const failing = '@id("needs-reason") forbid(principal, action, resource) when { context.reason == "no" };'
    writeFileSync(join(project.path, 'policies', 'failing.cedar'), failing)
    await using runtime = await openRuntime({
      project: project.path,
      provider: await scripted({ text: HEALTH_SCRIPT }, world),
      limits: { max_iterations: 1 },
    })
    await expect(runtime.ask('how are you')).rejects.toMatchObject({ code: 'LOOP_ERROR' })
    const done = await inProcess(['audit', 'show', 'latest', '--project', project.path])
    expect(done.stdout).toMatch(/ {2}x DENIED {4}system_health {2}by "needs-reason", which failed/)
  })

  test('lets what is unknown stand out, exits 2, and shows no control character of the evidence', async () => {
    await using project = await testProject()
    const key = madeKey(9)
    const events = [
      {
        ToolDispatchStarted: {
          call_fingerprint: `sha256:${'0'.repeat(64)}`,
          call_id: 'c',
          dispatch_id: OTHER_RUN,
          run_key: 'k',
          tool_name: 'wipe\u001b[2J_disk',
        },
      },
    ]
    const path = project.of(`${AGENT}.${RUN}.jsonl`)
    writeFileSync(path, Buffer.concat(makeLines({ key, events })))
    const done = await inProcess(['audit', 'show', path, '--public-key', key.publicHex])
    expect(done.code).toBe(2)
    expect(done.stdout).toMatch(/ {2}\? UNKNOWN {3}the call of wipe_disk was begun, and nothing says what became of it/)
    expect(done.stdout).toContain('warning    The journal has no end of the run')
    expect(done.stdout).not.toContain('\u001b')
  })

  test('is every entry with --json, one object a line, behind the result of verification', async () => {
    await using project = await ranProject('again')
    const lines = jsonLines((await inProcess(['audit', 'show', 'latest', '--json', '--project', project.path])).stdout)
    expect(lines[0]).toMatchObject({ event: 'verified', status: 'completed', verified_records: 11, independent: false })
    expect(lines).toHaveLength(12)
    expect(lines[1]).toMatchObject({ event: 'entry', sequence: 0, kind: 'Started', after_ms: 0 })
    expect(lines.at(-1)).toMatchObject({ kind: 'Terminated', members: { reason: 'Completed' } })
  })

  test('says so when there is no journal yet, or no such run', async () => {
    await using project = await testProject()
    const none = await inProcess(['audit', 'show', 'latest', '--project', project.path])
    expect([none.code, none.stdout]).toEqual([1, ''])
    expect(none.stderr).toContain('NOT_FOUND: Cannot find the latest journal: the project has none yet\n')
    const stranger = await inProcess(['audit', 'show', RUN, '--project', project.path])
    expect(stranger.stderr).toContain('EVIDENCE_INVALID: ')
  })
})
