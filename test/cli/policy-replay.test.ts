import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openRuntime, scripted } from '../../src/runtime/index.ts'
import { inProcess, jsonLines, type Ran, symbi } from '../support/cli.ts'
import { madeKey } from '../support/journal-maker.ts'
import { HEALTH_SCRIPT, type TestProject, testProject, world } from './support.ts'

const NO_HEALTH = `permit(principal, action == Action::"respond", resource);
@id("no-health") forbid(principal, action == Action::"tool_call::system_health", resource);
`

/** Turns that ran in this process. */
async function ranProject(...texts: readonly string[]): Promise<TestProject> {
  const project = await testProject()
  const provider = await scripted({ text: HEALTH_SCRIPT }, world)
  await using runtime = await openRuntime({ project: project.path, provider })
  for (const text of texts) await runtime.ask(text)
  return project
}

async function candidate(project: TestProject, text = NO_HEALTH): Promise<string> {
  await mkdir(project.of('candidate'))
  await writeFile(project.of('candidate', 'default.cedar'), text)
  return project.of('candidate')
}

const replay = (project: TestProject, ...args: readonly string[]): Promise<Ran> =>
  inProcess(['policy', 'replay', '--project', project.path, ...args])

describe('policy replay', () => {
  test('exits 0 when nothing would change, and by default judges the project by its own policies', async () => {
    await using project = await ranProject('Inspect', 'forbidden')
    const done = await replay(project)
    expect([done.code, done.stdout]).toEqual([0, 'judged 4 decisions of 2 journals: 0 would change\n'])
    expect(done.stderr).toBe("verified with the project's own key, which is not independent\n")
  })

  test('exits 3 and shows each decision that would change, with the policies of both sides', async () => {
    await using project = await ranProject('Inspect', 'forbidden')
    const done = await replay(project, '--policies', await candidate(project))
    expect(done.code).toBe(3)
    const lines = done.stdout.split('\n')
    expect(lines[0]).toMatch(/^WHEN +AGENT +CALL +DECISION$/)
    expect(lines[1]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}[0-9a-f-]+… {2}system_health +allow -> deny$/)
    expect(lines.slice(2, 5)).toEqual([
      '  call    {}',
      '  before  allow by "default#2"',
      '  after   deny by "no-health" (default.cedar:2)',
    ])
    expect(lines[5]).toMatch(/^ {2}run {5}[0-9a-f-]{36}, entry \d+, coordinator$/)
    expect(lines.slice(6)).toEqual([
      'judged 4 decisions of 2 journals: 1 would change (1 allow -> deny, 0 deny -> allow)',
      '',
    ])
  })

  test('shows with --all also what other policies would decide alike, and what policy did not decide it counts', async () => {
    await using project = await ranProject('Inspect', 'count')
    const everything = await candidate(project, '@id("all") permit(principal, action, resource);')
    const few = await replay(project, '--policies', everything)
    expect([few.code, few.stdout]).toEqual([
      0,
      'judged 3 decisions of 2 journals: 0 would change; other policies would decide, and the decision stays: 3\n' +
        'not judged by policy, and so not again: 1 could not be prepared\n',
    ])
    const all = await replay(project, '--policies', everything, '--all')
    expect(all.code).toBe(0)
    expect(all.stdout.match(/allow, by other policies/g)).toHaveLength(3)
    expect(all.stdout).toContain('  before  allow by "default"\n  after   allow by "all" (default.cedar:1)\n')
  })

  test('is one object a decision with --json, and "policy evaluate" judges such a line alike', async () => {
    await using project = await ranProject('Inspect')
    const folder = await candidate(project)
    const done = await replay(project, '--policies', folder, '--json')
    const [changed, summary, ...rest] = jsonLines(done.stdout)
    expect([done.code, rest]).toEqual([3, []])
    expect(changed).toMatchObject({
      event: 'changed',
      journal: project.journals()[0],
      surface: 'coordinator',
      subject: 'system_health',
      before: { decision: 'allow', policies: ['default#2'], errors: [] },
      after: { decision: 'deny', places: [{ name: 'no-health', file: 'default.cedar', line: 2 }] },
      approved: false,
    })
    expect(summary).toMatchObject({
      event: 'summary',
      journals: 1,
      refused: 0,
      judged: 2,
      changed: 1,
      allow_to_deny: 1,
    })
    await writeFile(project.of('call.json'), JSON.stringify(changed))
    const evaluate = async (policies: string) =>
      (await inProcess(['policy', 'evaluate', '--input', project.of('call.json'), '--policies', policies])).stdout
    expect([await evaluate(project.of('policies')), await evaluate(folder)]).toEqual(['allow\n', 'deny\n'])
  })

  test('shows nothing that could steer a terminal, and cuts what is long', async () => {
    await using project = await ranProject('colour', `colour ${'x'.repeat(500)}`)
    const done = await replay(project, '--policies', await candidate(project, 'forbid(principal, action, resource);'))
    expect(done.code).toBe(3)
    expect(done.stdout).toContain('"content":"a\\u001b[31mred')
    expect(done.stdout).not.toMatch(/[^\P{Cc}\n]|\u202e/u)
    expect(Math.max(...done.stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(120)
  })

  test('reads the folder of the surface that each journal names, and --surface overrides', async () => {
    await using project = await ranProject('Inspect')
    const folder = await candidate(project, 'permit(principal, action, resource);')
    await mkdir(join(folder, 'coordinator'))
    await writeFile(join(folder, 'coordinator', 'no.cedar'), 'forbid(principal, action, resource);')
    expect((await replay(project, '--policies', folder)).code).toBe(3)
    expect((await replay(project, '--policies', folder, '--surface', 'run')).code).toBe(0)
  })
})

describe('what is no evidence', () => {
  test('a journal that was changed is named and left out, nothing of it is shown, and the exit is 1', async () => {
    await using project = await ranProject('Inspect', 'Inspect')
    const [bad = '', good = ''] = project.journals()
    const path = join(project.governed, bad)
    writeFileSync(path, readFileSync(path, 'utf8').replace('"Completed"', '"Timeout"'))
    const done = await replay(project, '--policies', await candidate(project))
    expect(done.code).toBe(1)
    expect(done.stdout).toContain(`left out: ${bad}: Cannot verify record 19 of the journal: `)
    expect(done.stdout.match(/allow -> deny$/gm)).toHaveLength(1) // the other one's
    expect(done.stdout).toContain('judged 2 decisions of 1 journal: 1 would change')
    expect(done.stdout).toMatch(/left out: 1 journal\n$/)
    expect((await replay(project, join(project.governed, good))).code).toBe(0)
    const json = jsonLines((await replay(project, path, '--json')).stdout)
    expect(json).toMatchObject([
      { event: 'refused', journal: bad, code: 'EVIDENCE_INVALID' },
      { event: 'summary', journals: 1, refused: 1, judged: 0 },
    ])
  })

  test('so is one under the name of another run, of another agent, or of none', async () => {
    await using project = await ranProject('Inspect')
    const [name = ''] = project.journals()
    const [agent, run] = name.split('.')
    const names = [`${agent}.${agent}.jsonl`, `${run}.${run}.jsonl`, 'copy.jsonl']
    mkdirSync(project.of('copies'))
    for (const copy of names) copyFileSync(join(project.governed, name), project.of('copies', copy))
    const done = await replay(project, project.of('copies'))
    expect(done.code).toBe(1)
    for (const copy of names) expect(done.stdout).toContain(`left out: ${copy}: `)
    expect(done.stdout).toContain('judged 0 decisions of 0 journals')
  })

  test('an empty journal decided nothing, and the beginning of a crashed run is judged', async () => {
    await using project = await ranProject('Inspect')
    const [name = ''] = project.journals()
    const [agent, run = ''] = name.split('.')
    writeFileSync(join(project.governed, `${agent}.${run.replace(/^./, (c) => (c === '0' ? '1' : '0'))}.jsonl`), '')
    const lines = readFileSync(join(project.governed, name), 'utf8').split('\n')
    const end = lines.findIndex((line) => line.includes('"PolicyEvaluated"')) + 1
    writeFileSync(join(project.governed, name), `${lines.slice(0, end).join('\n')}\n{"pay`)
    const done = await replay(project)
    expect([done.code, done.stdout]).toEqual([
      0,
      'judged 1 decision of 2 journals: 0 would change\n' +
        'without an end, and judged as far as they go: 1 journal, and 1 empty\n',
    ])
  })

  test('nothing at all, and a candidate that cannot be used, are errors', async () => {
    await using project = await ranProject('Inspect')
    mkdirSync(project.of('none'))
    const codeOf = async (...args: string[]) => (await replay(project, ...args)).code
    expect(await codeOf(project.of('none'))).toBe(1)
    expect(await codeOf(project.of('gone.jsonl'))).toBe(1)
    expect(await codeOf('--policies', project.of('gone'))).toBe(78)
    expect(await codeOf('--policies', await candidate(project, 'permit('))).toBe(78)
    expect(await codeOf('--surface', '../policies')).toBe(78)
    expect(await codeOf('--public-key', madeKey(9).publicHex)).toBe(1)
    await using fresh = await testProject()
    expect((await replay(fresh)).code).toBe(1)
  })
})

test('the program itself exits 3, and leaves journals and project as they were', async () => {
  await using project = await ranProject('Inspect')
  const state = () =>
    readdirSync(project.governed).map((name) => [name, readFileSync(join(project.governed, name), 'hex')])
  const before = state()
  const folder = await candidate(project)
  const key = (await inProcess(['audit', 'key', '--project', project.path])).stdout.trim()
  const done = await symbi(
    ['policy', 'replay', project.governed, '--policies', folder, '--public-key', key, '--project', project.path],
    {},
  )
  expect([done.code, done.stderr]).toEqual([3, 'verified with the public key that was given\n'])
  expect(done.stdout).toContain('1 would change (1 allow -> deny, 0 deny -> allow)')
  expect(state()).toEqual(before)
}, 60_000)
