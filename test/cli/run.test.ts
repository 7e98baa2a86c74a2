/** The command as a person meets it: real processes, real folders, and a model that follows a script. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { inProcess, jsonLines, type Ran, type Running, start, symbi } from '../support/cli.ts'
import { HEALTH_SCRIPT, type TestProject, testProject } from './support.ts'

const ID = '3f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10'
const PRINCIPAL = 'cff02623-b268-5127-8e96-9f31668f2d24'
const REVIEWER = `metadata { description = "Reads the health" }
agent reviewer {
    policy restricted { deny: "list_agents" }
}
`

async function projectWith(
  agents: Readonly<Record<string, string>> = { 'reviewer.symbi': REVIEWER },
): Promise<TestProject> {
  const project = await testProject()
  mkdirSync(project.of('agents'))
  for (const [name, text] of Object.entries(agents)) writeFileSync(project.of('agents', name), text)
  writeFileSync(project.of('model.json'), HEALTH_SCRIPT)
  writeFileSync(
    project.of('policies', 'agents.cedar'),
    'permit(principal, action == Action::"tool_call::list_agents", resource);',
  )
  return project
}

const words = (project: TestProject, ...more: readonly string[]): readonly string[] => {
  return ['run', 'reviewer', '--project', project.path, '--provider', `scripted:${project.of('model.json')}`, ...more]
}
/** In this process, which costs a tenth of starting one. */
const run = (project: TestProject, ...more: readonly string[]): Promise<Ran> => inProcess(words(project, ...more))
/** A process of its own. */
const runAlone = (project: TestProject, ...more: readonly string[]): Promise<Ran> => symbi(words(project, ...more))

/** A run whose model never answers, in a process of its own that is gone with the test. */
async function stalledRun(project: TestProject): Promise<Running & AsyncDisposable> {
  const running = start(words(project, '-i', 'stall', '--invocation-id', ID))
  const dispose = async (): Promise<void> => {
    running.child.kill('SIGKILL')
    await running.ended
  }
  try {
    await running.printed('stderr', /^model/m)
  } catch (error) {
    await dispose()
    throw error
  }
  return { ...running, [Symbol.asyncDispose]: dispose }
}

test('a run prints the agent, the input and the answer, and on stderr where the evidence lies and what it does', async () => {
  await using project = await projectWith()
  const { code, stdout, stderr } = await runAlone(project, '-i', 'how is it?')
  expect([code, stdout]).toEqual([0, 'Agent: reviewer (Reads the health)\nInput: how is it?\nAll is well.\n'])
  const lines = stderr.split('\n')
  const at = (pattern: RegExp): number => lines.findIndex((line) => pattern.test(line))
  const order = [
    /^Invocation ID: [0-9a-f-]{36}$/,
    /^Audit run: [0-9a-f-]{36}$/,
    new RegExp(`^Audit journal: ${project.governed}/${PRINCIPAL}\\..*jsonl$`),
    /^Audit public key: [0-9a-f]{64}$/,
    /^model +asked, iteration 1$/,
    /^allowed +tool_call::system_health$/,
    /^call +system_health \{\}$/,
    /^result +\{/,
    /^model +asked, iteration 2$/,
    /^allowed +respond$/,
    /^2 iterations, \d+ tokens, terminated: Completed$/,
    /^Verify it: .*audit verify [0-9a-f-]{36} --project /,
  ].map(at)
  expect(order).not.toContain(-1)
  expect(order).toEqual(order.toSorted((left, right) => left - right))
  const verified = await inProcess(['audit', 'verify', '--project', project.path])
  expect(verified.code).toBe(0)
})

test('where the evidence lies is told before the model answers anything', async () => {
  await using project = await projectWith()
  const running = start(words(project, '-i', 'stall'))
  await running.printed(
    'stderr',
    /Invocation ID: .*\nAudit run: .*\nAudit journal: .*\nAudit public key: .*\nmodel {5}/,
  )
  running.child.kill('SIGKILL')
  await running.ended
})

test('with --json stdout holds one object, and nothing else', async () => {
  await using project = await projectWith()
  const { code, stdout } = await runAlone(project, '-i', 'how is it?', '--json', '--invocation-id', ID)
  expect(code).toBe(0)
  expect(stdout.trimEnd().split('\n')).toHaveLength(1)
  expect(JSON.parse(stdout)).toEqual({
    status: 'completed',
    agent: 'reviewer',
    principal: PRINCIPAL,
    replayed: false,
    output: 'All is well.',
    termination_reason: 'Completed',
    iterations: 2,
    total_tokens: expect.any(Number),
    invocation_id: ID,
    audit: { run_id: expect.any(String), path: expect.stringContaining(PRINCIPAL), public_key: expect.any(String) },
  })
})

test('a tool that the inline policy denies does not run, and the run says so and ends well', async () => {
  await using project = await projectWith()
  const { code, stdout, stderr } = await run(project, '-i', 'forbidden')
  expect([code, stdout]).toEqual([0, expect.stringContaining('\nI was not allowed to.\n')])
  expect(stderr).toMatch(/^DENIED +tool_call::list_agents: inline policy restricted/m)
  expect(stderr).not.toMatch(/^call/m)
})

test('the same id and input again prints the saved result, says so, and runs nothing', async () => {
  await using project = await projectWith()
  const first = await run(project, '-i', 'how is it?', '--invocation-id', ID)
  const journal = project.journals()[0] ?? ''
  const before = readFileSync(`${project.governed}/${journal}`, 'utf8')
  const again = await runAlone(project, '-i', 'how is it?', '--invocation-id', ID.toUpperCase())
  expect([again.code, again.stdout]).toEqual([0, first.stdout])
  expect(again.stderr).toContain('Replayed: the saved result; nothing ran now')
  expect(again.stderr).toContain(/^Audit run: .*$/m.exec(first.stderr)?.[0])
  expect(again.stderr).not.toMatch(/^(model|call)/m)
  expect(project.journals()).toEqual([journal])
  expect(readFileSync(`${project.governed}/${journal}`, 'utf8')).toBe(before)
})

test('a saved result is said again without any model', async () => {
  await using project = await projectWith()
  const first = await run(project, '-i', 'how is it?', '--invocation-id', ID)
  const bare = ['run', 'reviewer', '--project', project.path, '-i', 'how is it?']
  const again = await inProcess([...bare, '--invocation-id', ID])
  expect([again.code, again.stdout]).toEqual([0, first.stdout])
  expect(again.stderr).toContain('Replayed: ')
  expect(await inProcess(bare)).toMatchObject({ code: 78, stderr: expect.stringContaining('Cannot choose a model') })
})

test('the same id with another input, or after an edit of the source, is a conflict', async () => {
  await using project = await projectWith()
  await run(project, '-i', 'how is it?', '--invocation-id', ID)
  const other = await run(project, '-i', 'other', '--invocation-id', ID)
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('INVOCATION_CONFLICT: ')])
  writeFileSync(project.of('agents', 'reviewer.symbi'), `${REVIEWER}# edited\n`)
  const edited = await run(project, '-i', 'how is it?', '--invocation-id', ID, '--json')
  expect([edited.code, edited.stdout]).toEqual([1, ''])
  expect(JSON.parse(edited.stderr.split('\n').find((line) => line.startsWith('{')) ?? '')).toMatchObject({
    code: 'INVOCATION_CONFLICT',
  })
  expect(project.journals()).toHaveLength(1)
})

test('a run that was killed is unresolved with exit 2, never runs again, and after a review exits 3', async () => {
  await using project = await projectWith()
  await using running = await stalledRun(project)

  const meanwhile = await run(project, '-i', 'stall', '--invocation-id', ID, '--json')
  expect([meanwhile.code, JSON.parse(meanwhile.stdout)]).toEqual([
    2,
    { status: 'in_progress', invocation_id: ID, audit: null },
  ])

  running.child.kill('SIGKILL')
  await running.ended
  const after = await run(project, '-i', 'stall', '--invocation-id', ID)
  expect(after.code).toBe(2)
  expect(after.stderr).toContain('Unresolved: ')
  expect(after.stderr).toMatch(/^Inspect it: .*invocation inspect --scope cli:orga --id /m)
  const json = await run(project, '-i', 'stall', '--invocation-id', ID, '--json')
  expect([json.code, JSON.parse(json.stdout)]).toMatchObject([
    2,
    { status: 'unresolved', audit: { run_id: expect.any(String) } },
  ])

  const draft = project.of('review.json')
  const scoped = ['--scope', 'cli:orga', '--id', ID, '--project', project.path]
  await inProcess(['invocation', 'inspect', ...scoped, '--review-template', draft])
  const decided = { outcome: 'no_effects', rationale: 'The model was never answered', effects_stopped: true }
  writeFileSync(draft, JSON.stringify({ ...JSON.parse(readFileSync(draft, 'utf8')), ...decided }))
  expect((await inProcess(['invocation', 'reconcile', ...scoped, '--review', draft])).code).toBe(0)
  const closed = await run(project, '-i', 'stall', '--invocation-id', ID)
  expect(closed.code).toBe(3)
  expect(jsonLines(closed.stdout)).toEqual([
    {
      status: 'reconciled',
      resolution: expect.objectContaining({ signature: expect.any(String) }),
      work_repeated: false,
    },
  ])
  expect(project.journals()).toHaveLength(1)
})

test('Ctrl-C cancels the run, which records its end, and exits 130', async () => {
  await using project = await projectWith()
  await using running = await stalledRun(project)
  running.child.kill('SIGINT')
  const { code, stderr } = await running.ended
  expect([code, stderr]).toEqual([130, expect.stringContaining('Cancelling: ')])
  const journal = readFileSync(`${project.governed}/${project.journals()[0]}`, 'utf8').trimEnd().split('\n').at(-1)
  expect(journal).toContain('"Terminated"')
  expect((await run(project, '-i', 'stall', '--invocation-id', ID)).code).toBe(2)
})

test('a run that ends otherwise than completed exits 1 and says how', async () => {
  await using project = await projectWith()
  const { code, stdout, stderr } = await run(project, '-i', 'how is it?', '--max-iterations', '1', '--json')
  expect([code, JSON.parse(stdout)]).toMatchObject([
    1,
    { status: 'failed', output: '', termination_reason: 'MaxIterations' },
  ])
  expect(stderr).toMatch(/^1 iterations, \d+ tokens, terminated: MaxIterations$/m)
  const model = await run(project, '-i', 'fail')
  expect([model.code, model.stderr]).toEqual([1, expect.stringMatching(/terminated: Error: /)])
})

test('the input is "{}" unless somebody says otherwise, and "-" reads it', async () => {
  await using project = await projectWith()
  expect((await run(project)).stdout).toContain('\nInput: {}\n')
  const read = await symbi(words(project, '-i', '-'), { input: `forbidden\n${'x'.repeat(500)}` })
  expect(read.stdout).toContain('\nI was not allowed to.\n')
  const preview = /^Input: (.*)$/m.exec(read.stdout)?.[1] ?? ''
  expect([...preview]).toHaveLength(200)
})

test('what comes on standard input is the input to the last newline, and the same again is the same run', async () => {
  await using project = await projectWith()
  const fed = (input: string | Uint8Array) => inProcess(words(project, '-i', '-', '--invocation-id', ID), { input })
  expect((await fed('forbidden\r\n\n')).code).toBe(0)
  expect((await run(project, '-i', 'forbidden\r\n\n', '--invocation-id', ID)).stderr).toContain('Replayed: ')
  for (const other of ['forbidden\n\n', 'forbidden\r\n']) {
    expect((await fed(other)).stderr).toMatch(/^INVOCATION_CONFLICT: /m)
  }
})

test.each([
  ['longer than a mebibyte', 'x'.repeat(1024 * 1024 + 1), 'PAYLOAD_TOO_LARGE'],
  ['no UTF-8', Uint8Array.of(0x61, 0xff), 'INVALID_REQUEST'],
])('an input that is %s is refused, and nothing is claimed', async (_what, input, code) => {
  await using project = await projectWith()
  const done = await inProcess(words(project, '-i', '-'), { input })
  expect([done.code, done.stdout]).toEqual([65, ''])
  expect(done.stderr).toMatch(new RegExp(`^${code}: Cannot read the input: .*\nhint: `))
  expect(await inProcess(words(project, '-i', '-'), { input: 'how is it?' })).toMatchObject({ code: 0 })
  expect(project.journals()).toHaveLength(1)
})

test('an endless input is refused without waiting for its end', async () => {
  await using project = await projectWith()
  const running = start(words(project, '-i', '-'))
  running.child.stdin.write('x'.repeat(3 * 1024 * 1024))
  const { code, stderr } = await running.ended
  expect([code, stderr]).toEqual([65, expect.stringMatching(/^PAYLOAD_TOO_LARGE: /)])
})

test('what the model writes reaches no terminal as it came', async () => {
  await using project = await projectWith()
  const { stdout } = await run(project, '-i', 'colour')
  expect(stdout).toContain('\nared end\n')
})

test('one agent of a file with several is found by its declared name, or named with --agent', async () => {
  await using project = await projectWith({ 'desk.symbi': 'agent reviewer {}\nagent writer {}\n' })
  const byName = await run(project, '-i', 'again')
  expect([byName.code, byName.stdout]).toEqual([
    0,
    'Agent: reviewer (reviewer (.symbi agent))\nInput: again\nStill there.\n',
  ])
  const file = words(project, '-i', 'again').with(1, 'desk')
  const ambiguous = await inProcess(file)
  expect([ambiguous.code, ambiguous.stdout]).toEqual([1, ''])
  expect(ambiguous.stderr).toMatch(/^AGENT_AMBIGUOUS: .*\nhint: .*reviewer, writer/m)
  const chosen = await inProcess([...file, '--agent', 'writer'])
  expect([chosen.code, chosen.stdout]).toEqual([0, expect.stringContaining('Agent: writer')])
})

test.each([
  ['a broken source', 'agent reviewer {', 65, /^SOURCE_INVALID: .*"agents\/reviewer\.symbi": 1:16: E101/],
  ['a rule that nothing enforces', 'agent reviewer { policy p { require: "x" } }', 65, /reviewer\.symbi:1:29: E170/],
  [
    'another executor',
    'metadata { executor = "claude_code" } agent reviewer {}',
    65,
    /reviewer\.symbi:1:23: E180 there is no executor/,
  ],
  [
    'a block that nothing acts on',
    'webhook w { path "/x" } agent reviewer {}',
    65,
    /reviewer\.symbi:1:1: E180 nothing here acts on the webhook/,
  ],
  [
    'a hosted sandbox',
    'agent reviewer { with sandbox = "e2b" {} }',
    65,
    /reviewer\.symbi:1:33: E180 the sandbox "e2b"/,
  ],
])('%s is refused before anything is claimed', async (_, text, exit, reason) => {
  await using project = await projectWith({ 'reviewer.symbi': text })
  const { code, stdout, stderr } = await inProcess(words(project))
  expect([code, stdout]).toEqual([exit, ''])
  expect(stderr).toMatch(reason)
  expect(() => project.journals()).toThrow('ENOENT')
})

test('a sandbox that has nothing to isolate is mentioned, and the run goes on', async () => {
  await using project = await projectWith({ 'reviewer.symbi': 'agent reviewer { with sandbox = "gvisor" {} }' })
  const { code, stderr } = await run(project, '-i', 'again')
  expect([code, stderr]).toEqual([0, expect.stringContaining('Sandbox tier2: nothing to isolate')])
})

test.each([
  ['no agent', [], 64, 'USAGE'],
  ['an unknown option', ['reviewer', '--nonsense'], 64, 'USAGE'],
  ['no number of iterations', ['reviewer', '--max-iterations', '0'], 64, 'USAGE'],
  ['an id that is none', ['reviewer', '--invocation-id', 'x'], 65, 'INVALID_INVOCATION_ID'],
  ['an agent that does not exist', ['nobody'], 1, 'AGENT_UNKNOWN'],
])('%s is refused with a code and a hint', async (_, more, exit, name) => {
  await using project = await projectWith()
  const { code, stdout, stderr } = await inProcess(['run', ...more, '--project', project.path])
  expect([code, stdout]).toEqual([exit, ''])
  expect(stderr).toMatch(new RegExp(`^${name}: .*\nhint: `))
})
