/** Approvals on the terminal: the port with a terminal that a test plays, and processes with a real one. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { terminalNotifier } from '../../src/cli/approvals/approval-terminal.ts'
import type { JsonObject } from '../../src/core/index.ts'
import { type ApprovalAnswer, type ApprovalQueue, escalationGate, permissiveGate } from '../../src/policy/index.ts'
import { type ControllingTerminal, nodeWorld } from '../../src/world/index.ts'
import { deskIn, pay } from '../policy/approvals/support.ts'
import { inProcess } from '../support/cli.ts'
import { inTerminal, whyNoTerminal } from '../support/pseudo-terminal.ts'
import { scratch } from '../support/scratch.ts'
import { HEALTH_SCRIPT, type TestProject, TOKEN, testProject } from './support.ts'

const place = scratch()
const open = permissiveGate(() => undefined)
const never = new AbortController().signal

/** A terminal where the person answers by a function of what is shown. */
function playedTerminal(answer: (shown: string, signal: AbortSignal) => string | null | Promise<string | null>) {
  const screen: string[] = []
  const terminal: ControllingTerminal = {
    write: async (text) => void screen.push(text),
    readLine: async (bytesMax, signal) => {
      const line = await answer(screen.at(-1) ?? '', signal)
      return line !== null && Buffer.byteLength(line) > bytesMax ? null : line
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
  return { terminal, screen }
}

async function asked(
  answer: Parameters<typeof playedTerminal>[0],
  { args = { amount: 5 }, alone = true }: { readonly args?: JsonObject; readonly alone?: boolean } = {},
): Promise<{
  readonly answer: Promise<ApprovalAnswer>
  readonly screen: readonly string[]
  readonly queue: ApprovalQueue
  advance(ms: number): Promise<void>
}> {
  const { terminal, screen } = playedTerminal(answer)
  const notifiers = [terminalNotifier({ terminal, uid: 1000, alone })]
  const { queue, world } = await deskIn(place.path('approvals'), { notifiers })
  const gate = escalationGate(open, queue)
  return { answer: gate.approve(pay(args), never), screen, queue, advance: (ms) => world.advance(ms) }
}

const idIn = (shown: string): string => /"approve ([0-9a-f]{16})"/.exec(shown)?.[1] ?? ''

describe('the question on the terminal', () => {
  test('shows the whole review, and the exact answer approves', async () => {
    const { answer, screen } = await asked((shown) => `approve ${idIn(shown)}`)
    const given = await answer
    if (given.kind !== 'Approved') throw new Error(given.kind)
    expect(given.approval.resolution.approver).toEqual({ surface: 'terminal', id: 'uid:1000', display: 'uid:1000' })
    expect(screen[0]).toContain('"amount": 5')
    expect(screen[0]).toMatch(/^[\x20-\x7e\n]*$/)
  })

  test.each<[string, (id: string) => string | null]>([
    ['yes', () => 'yes'],
    ['nothing', () => ''],
    ['the word alone', () => 'approve'],
    ['another id', () => 'approve 0123456789abcdef'],
    ['a space behind', (id) => `approve ${id} `],
    ['a space before', (id) => ` approve ${id}`],
    ['capitals', (id) => `APPROVE ${id}`],
    ['a carriage return', (id) => `approve ${id}\r`],
    ['a very long line', (id) => `approve ${id}${' '.repeat(200)}`],
    ['the end of the input', () => null],
  ])('is a denial with %s', async (_, typed) => {
    const { answer } = await asked((shown) => typed(idIn(shown)))
    expect(await answer).toEqual({ kind: 'Refused', reason: 'the approval was denied' })
  })

  test('is taken back at the deadline', async () => {
    let begun = (): void => undefined
    const asking = new Promise<void>((resolve) => {
      begun = resolve
    })
    const { answer, screen, advance } = await asked((_, signal) => {
      begun()
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
    await asking
    await advance(120_000)
    expect(await answer).toEqual({ kind: 'Refused', reason: 'timeout' })
    await new Promise((resolve) => setImmediate(resolve))
    expect(screen.at(-1)).toContain('The wait is over')
  })

  test('of what is too long for it is not asked: alone it denies, beside others it leaves it to them', async () => {
    const args = { text: '\u00e9'.repeat(20_000) }
    const alone = await asked(() => 'approve it', { args })
    expect((await alone.answer).kind).toBe('Refused')
    expect(alone.screen[0]).toContain('cannot be approved here and is denied')
    const beside = await asked(() => 'approve it', { args, alone: false })
    const [action] = await listOf(beside.queue)
    await beside.queue.resolve(
      action?.id ?? '',
      { decision: 'approve' },
      { surface: 'rest', id: 'ops', display: 'ops' },
    )
    expect((await beside.answer).kind).toBe('Approved')
    expect(beside.screen[0]).toContain('symbi approvals show')
  })

  test('is one at a time, and the second is asked after the first was answered', async () => {
    const shown: string[] = []
    const { terminal } = playedTerminal((text) => {
      shown.push(idIn(text))
      return `approve ${idIn(text)}`
    })
    const notifiers = [terminalNotifier({ terminal, uid: 1000, alone: true })]
    const { queue } = await deskIn(place.path('approvals'), { notifiers })
    const gate = escalationGate(open, queue)
    const both = await Promise.all([gate.approve(pay({ amount: 1 }), never), gate.approve(pay({ amount: 2 }), never)])
    expect(both.map(({ kind }) => kind)).toEqual(['Approved', 'Approved'])
    expect(new Set(shown).size).toBe(2)
  })
})

async function listOf(queue: ApprovalQueue) {
  const now = queue.list()
  if (now.length > 0) return now
  await new Promise<void>((resolve) => queue.subscribe(() => resolve()))
  return queue.list()
}

async function runnable(): Promise<{ readonly project: TestProject; readonly words: readonly string[] }> {
  const project = await testProject()
  onTestFinished(() => project[Symbol.asyncDispose]())
  mkdirSync(project.of('agents'))
  writeFileSync(project.of('agents', 'reviewer.symbi'), 'agent reviewer {}\n')
  writeFileSync(project.of('model.json'), HEALTH_SCRIPT)
  const provider = `scripted:${project.of('model.json')}`
  return { project, words: ['run', 'reviewer', '--project', project.path, '--provider', provider, '-i', 'how is it?'] }
}

describe('symbi run', () => {
  test('with --approval-terminal refuses to start where there is no terminal, and claims nothing', async () => {
    const { project, words } = await runnable()
    const real = nodeWorld()
    const world = { ...real, processes: { ...real.processes, terminal: async () => null } }
    const ran = await inProcess([...words, '--approval-terminal'], { world })
    expect([ran.code, ran.stderr.split('\n').find((line) => line.startsWith('USAGE'))]).toEqual([
      64,
      'USAGE: Cannot ask for approvals on the terminal: this process has none',
    ])
    expect(() => readFileSync(project.governed)).toThrow('ENOENT')
  })

  test.each(['0', '3601', 'soon', '1.5'])('takes no --approval-timeout of %s', async (seconds) => {
    const { words } = await runnable()
    const ran = await inProcess([...words, '--approval-timeout', seconds])
    expect([ran.code, ran.stderr.includes('must be a whole number from 1 to 3600')]).toEqual([64, true])
  })

  test('without a terminal refuses at once what the operator’s list holds', async () => {
    const { words } = await runnable()
    const ran = await inProcess(words, { env: { SYMBIONT_REQUIRE_APPROVAL_TOOLS: 'look,system_health' } })
    expect(ran.stdout).toContain('I was not allowed to.')
    expect(ran.stderr).toContain('requires human approval for "system_health", and no approver is configured')
    expect(ran.stderr.match(/^hint: Start it in a terminal with --approval-terminal/gm)).toHaveLength(1)
    expect(ran.stderr).toContain('warning: approvals.tools: no tool is called "look"')
  })
})

const why = whyNoTerminal()
describe(`on a real terminal${why === null ? '' : ` (skipped: ${why})`}`, () => {
  test.skipIf(why !== null)(
    'a run asks there and not on standard input, and the journal names who approved',
    async () => {
      const { project, words } = await runnable()
      await using terminal = inTerminal([...words, '--approval-terminal'], '< /dev/null')
      const [, id = ''] = await terminal.shown(/Type "approve ([0-9a-f]{16})" to approve it/)
      const review = terminal.screen()
      expect(review).toContain(`review of the held action ${id}`)
      expect(review).toContain('"name": "system_health"')
      terminal.type(`approve ${id}\n`)
      expect(await terminal.ended).toBe(0)
      expect(terminal.screen()).toContain('All is well.')
      const [journal = ''] = project.journals()
      expect(readFileSync(`${project.governed}/${journal}`, 'utf8')).toContain('"surface":"terminal"')
    },
  )

  test.skipIf(why !== null)('what is typed before the question answers nothing, and anything else denies', async () => {
    const { words } = await runnable()
    await using terminal = inTerminal([...words, '--approval-terminal', '--approval-timeout', '60'], '< /dev/null')
    await terminal.shown(/Invocation ID/)
    terminal.type('approve\n')
    const [, id = ''] = await terminal.shown(/Type "approve ([0-9a-f]{16})" to approve it/)
    terminal.type(`approve ${id}!\n`)
    expect(await terminal.ended).toBe(0)
    expect(terminal.screen()).toContain('Denied')
    expect(terminal.screen()).toContain('I was not allowed to.')
  })

  test.skipIf(why !== null)(
    'a server asks there too, for a chat and for a client of /mcp, and Ctrl-C still ends it',
    async () => {
      const { project, words } = await runnable()
      const provider = words.slice(words.indexOf('--provider'), words.indexOf('-i'))
      const up = ['up', '--project', project.path, '--port', '0', '--json', '--approval-terminal', ...provider]
      await using terminal = inTerminal(up)
      const [, api = ''] = await terminal.shown(/"event":"listening","api":"([^"]+)"/)
      const chat = inProcess(['chat', 'how is it?', '--project', project.path])
      const [, id = ''] = await terminal.shown(/Type "approve ([0-9a-f]{16})" to approve it/)
      terminal.type(`approve ${id}\n`)
      expect(await chat).toMatchObject({ code: 0, stdout: 'All is well.\n' })
      const client = new Client({ name: 'official', version: '1' })
      const headers = { authorization: `Bearer ${TOKEN}` }
      const url = new URL(`${api}/mcp?agent=reviewer`)
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
      const { structuredContent } = await client.callTool({ name: 'system_health' })
      const { approval_id } = structuredContent as { readonly approval_id: string }
      await terminal.shown(new RegExp(`Type "approve ${approval_id}" to approve it`))
      terminal.type(`approve ${approval_id}\n`)
      await terminal.shown(/Approved[\s\S]*Approved/)
      const again = { approval_id, name: 'system_health', arguments: {} }
      expect(await client.callTool({ name: 'call_with_approval', arguments: again })).toMatchObject({ isError: false })
      await client.close()
      terminal.type('\u0003')
      expect(await terminal.ended).toBe(0)
    },
  )
})
