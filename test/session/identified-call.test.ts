/** Calls with an id of their caller: at most once, whatever is repeated, and a tree of journals that verifies. */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { Toolbox } from '../../src/calls/index.ts'
import { type AgentId, type Hash, hexHash, type InvocationId, newId } from '../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG } from '../../src/events/index.ts'
import { type ClaimStore, fileClaims } from '../../src/invocations/index.ts'
import {
  createJournal,
  type Journal,
  parsePublicKey,
  type RunTree,
  runsOf,
  treeHolds,
  verifyTree,
} from '../../src/journal/index.ts'
import { deny, type Gate, giveApproval, heldBinding, restrictedBy } from '../../src/policy/index.ts'
import {
  type BrokerCall,
  GovernedToolSession,
  type IdentifiedOutcome,
  type SessionSetup,
} from '../../src/session/index.ts'
import { type Tool, toolbox } from '../../src/tools/index.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { inProcess } from '../support/cli.ts'
import { gateOf } from '../support/gates.ts'
import { policyIn } from '../support/inline-policy.ts'
import { mortalWorld } from '../support/mortal-world.ts'
import { type TemporaryProject, temporaryProject } from '../support/temporary-project.ts'
import { callOf, latch, ms, never } from '../support/tool-session.ts'
import { toolOf } from '../support/tools.ts'
import { watchedWorld } from '../support/watched-world.ts'

const CALLER = `sha256:${'a'.repeat(64)}` as Hash
const STRANGER = `sha256:${'b'.repeat(64)}` as Hash
const principal = newId('agent', nodeWorld().random)
const patient = (): AbortSignal => new AbortController().signal
const idOf = (): InvocationId => randomUUID() as InvocationId
const gate = gateOf(({ arguments: args }) =>
  args?.forbidden === true ? deny('no') : { kind: 'Allow', policies: ['p'] },
)

interface Open extends AsyncDisposable {
  readonly world: World
  readonly journal: Journal
  readonly session: GovernedToolSession
  readonly claims: ClaimStore
  once(id: InvocationId, call: BrokerCall, how?: Partial<How>): Promise<IdentifiedOutcome>
}

interface How {
  readonly caller: Hash
  readonly signal: AbortSignal
  readonly presented: string | null
}

type Parts = Partial<Pick<SessionSetup, 'gate' | 'principal' | 'config' | 'trustedContext'>> & {
  readonly tool?: Tool
  readonly world?: World
  readonly box?: (inner: Toolbox) => Toolbox
}

/** A session of one client in its own right: journal, tools and store of claims are opened anew, as after a restart. */
async function openSession(project: TemporaryProject, parts: Parts = {}): Promise<Open> {
  const { world = nodeWorld(), tool = toolOf('look'), box, ...setup } = parts
  const agent: AgentId = parts.principal ?? principal
  const journal = await createJournal(world, { directory: project.governed, principal: agent })
  const inner = toolbox({ tools: [tool] }, world)
  const session = await GovernedToolSession.start({
    world,
    principal: agent,
    gate,
    toolbox: box?.(inner) ?? inner,
    log: journal,
    config: { ...DEFAULT_LOOP_CONFIG, timeout: ms(60_000) },
    ...setup,
  })
  const claims = fileClaims(world, project.root)
  return {
    world,
    journal,
    session,
    claims,
    once: (id, call, { caller = CALLER, signal = patient(), presented = null } = {}) =>
      session.callOnce(call, { claims, id, caller }, signal, { presented }),
    [Symbol.asyncDispose]: () => journal.close(),
  }
}

function treeOf({ audit, principal: agentId }: Pick<Journal, 'audit' | 'principal'>): Promise<RunTree> {
  const key = parsePublicKey(audit.public_key)
  return verifyTree(nodeWorld(), { path: audit.path, runId: audit.run_id, agentId, key })
}

const storyOf = ({ root }: RunTree) =>
  runsOf(root).map(({ node }) => [node.name, node.result, node.report?.terminal_reason ?? null, node.problems])

const journalCount = ({ governed }: TemporaryProject): number =>
  readdirSync(governed).filter((name) => name.endsWith('.jsonl')).length

describe('a call with an id', () => {
  test('is the call that it was when it was read, whatever its caller makes of the object meanwhile', async () => {
    using project = temporaryProject()
    const tool = toolOf('look')
    await using open = await openSession(project, { tool })
    const { session, journal, claims, once } = open
    const call = { call_id: 'a', name: 'look', arguments: { at: 'b' } }
    const id = idOf()
    const lookup = claims.lookup.bind(claims)
    vi.spyOn(claims, 'lookup').mockImplementationOnce(async (...args) => {
      Object.assign(call, { call_id: 'z', name: 'wire', arguments: { at: 'elsewhere' } })
      return await lookup(...args)
    })
    const outcome = await once(id, call)
    expect(outcome).toMatchObject({ kind: 'Recorded', observation: { source: 'look', call_id: 'a' } })
    expect(tool.ran).toEqual([{ at: 'b' }])
    expect(await once(id, callOf('c', 'look', { at: 'b' }))).toMatchObject({ kind: 'Recorded', replayed: true })
    await session.close()
    expect(storyOf(await treeOf(journal)).map(([, result]) => result)).toEqual(['verified', 'verified'])
  })

  test('that a gate changed before it allowed it verifies, though its link names what was asked', async () => {
    using project = temporaryProject()
    const tool = toolOf('look')
    const changing = gateOf(({ action, arguments: args }) => {
      if (args?.at === 'safe' || !('ToolCall' in action)) return { kind: 'Allow', policies: ['p'] }
      const modified_action = { ToolCall: { ...action.ToolCall, arguments: '{"at":"safe"}' } }
      return { kind: 'Modify', modified_action, reason: 'safer', policies: ['p'] }
    })
    await using open = await openSession(project, { tool, gate: changing })
    const { session, journal, once } = open
    await once(idOf(), callOf('a', 'look', { at: 'b' }))
    await session.close()
    expect(tool.ran).toEqual([{ at: 'safe' }])
    expect(storyOf(await treeOf(journal)).map(([, result]) => result)).toEqual(['verified', 'verified'])
  })

  test('runs once in a journal of its own, which the journal of the session links to', async () => {
    using project = temporaryProject()
    const tool = toolOf('look')
    await using open = await openSession(project, { tool, trustedContext: { surface: 'mcp' } })
    const { session, journal, once } = open
    const outcome = await once(idOf(), callOf('a', 'look', { at: 'b' }))
    expect(outcome).toMatchObject({
      kind: 'Recorded',
      replayed: false,
      hint: null,
      observation: { source: 'look', content: 'fine', is_error: false, call_id: 'a' },
    })
    await session.close()
    const tree = await treeOf(journal)
    expect(storyOf(tree)).toEqual([
      [null, 'verified', 'Completed', []],
      ['look', 'verified', 'Completed', []],
    ])
    const [root, child] = runsOf(tree.root).map(({ node }) => node.report)
    expect([root?.requires_reconciliation, child?.requires_reconciliation]).toEqual([false, false])
    expect(root?.effects.map(({ identity, outcome }) => [identity.kind, outcome])).toEqual([
      ['delegation', 'result_recorded'],
    ])
    const { audit } = outcome as Extract<IdentifiedOutcome, { kind: 'Recorded' }>
    const [first] = readFileSync(audit.path, 'utf8').split('\n')
    const { execution_context } = JSON.parse(first ?? '').payload.entry.event.Started
    expect(execution_context).toMatchObject({
      surface: 'mcp',
      invocation: { scope: 'mcp:call:v1' },
      delegation: { target: 'look', call_id: 'a', child_agent_id: principal, parent_audit: journal.audit },
    })
    expect(child?.effects[0]?.details.started).toMatchObject({
      call_fingerprint: execution_context.delegation.call_fingerprint,
    })
    expect(tool.ran).toEqual([{ at: 'b' }])
    const below = await treeOf({ audit, principal })
    expect([below.root.result, below.above?.result, below.above?.problems]).toEqual(['verified', 'verified', []])
  })

  test('costs eleven syncs, nine more than one without an id', async () => {
    using project = temporaryProject()
    let syncs = 0
    const world = watchedWorld((operation) => {
      if (operation.startsWith('sync')) syncs += 1
    })
    await using open = await openSession(project, { world })
    await open.once(idOf(), callOf('first')) // makes the folder of the claims
    syncs = 0
    await open.once(idOf(), callOf('a'))
    expect(syncs).toBe(11)
    await open.session.call(callOf('b'), patient())
    expect(syncs).toBe(13)
    await open.session.close()
  })

  test('takes its turn with the others, is counted, and uses up its call id', async () => {
    using project = temporaryProject()
    let active = 0
    let most = 0
    const world = nodeWorld()
    const tool = toolOf('look', async () => {
      active += 1
      most = Math.max(most, active)
      await world.clock.yield()
      active -= 1
      return 'seen'
    })
    await using open = await openSession(project, { tool })
    const { session, once } = open
    const made = [once(idOf(), callOf('a')), session.call(callOf('b'), never), once(idOf(), callOf('c'))]
    await Promise.all(made)
    expect(most).toBe(1)
    await expect(session.call(callOf('a'), never)).rejects.toMatchObject({ code: 'CALL_ID_USED' })
    await expect(once(idOf(), callOf('b'))).rejects.toMatchObject({ code: 'CALL_ID_USED' })
    await expect(once(idOf(), callOf('d', 'not a name'))).rejects.toMatchObject({ code: 'CALL_INVALID' })
    expect(session.attempts).toBe(6)
    expect(journalCount(project)).toBe(3) // what was refused claimed nothing
    await session.close()
  })

  test('is answered from the record when it comes again, in the same session and after a restart', async () => {
    using project = temporaryProject()
    const tool = toolOf('look')
    const id = idOf()
    await using open = await openSession(project, { tool })
    const first = await open.once(id, callOf('a', 'look', { at: 'b' }))
    expect(first).toMatchObject({ kind: 'Recorded', replayed: false })
    const upper = id.toUpperCase() as InvocationId
    expect(await open.once(upper, callOf('b', 'look', { at: 'b' }))).toEqual({ ...first, replayed: true })
    await open.session.close()
    await using later = await openSession(project, { tool })
    expect(await later.once(id, callOf('c', 'look', { at: 'b' }))).toEqual({ ...first, replayed: true })
    await later.session.close()
    expect(tool.ran).toHaveLength(1)
    expect(storyOf(await treeOf(later.journal))).toEqual([[null, 'verified', 'Completed', []]]) // a replay begins nothing
  })

  test.each<[string, BrokerCall, Partial<How>, Partial<Parts>]>([
    ['other arguments', callOf('b', 'look', { at: 'c' }), {}, {}],
    ['another tool', callOf('b', 'listen'), {}, {}],
    ['another caller', callOf('b', 'look', { at: 'b' }), { caller: STRANGER }, {}],
    ['another agent', callOf('b', 'look', { at: 'b' }), {}, { principal: newId('agent', nodeWorld().random) }],
  ])('with %s is a conflict, runs nothing, and leaves the session usable', async (_what, call, how, parts) => {
    using project = temporaryProject()
    const tool = toolOf('look')
    const id = idOf()
    await using open = await openSession(project, { tool })
    await open.once(id, callOf('a', 'look', { at: 'b' }))
    await using other = await openSession(project, { tool, ...parts })
    await expect(other.once(id, call, how)).rejects.toMatchObject({ code: 'INVOCATION_CONFLICT' })
    expect(tool.ran).toHaveLength(1)
    expect(await other.session.call(callOf('z'), never)).toMatchObject({ is_error: false })
    await other.session.close()
    await open.session.close()
  })

  test('that eight sessions make at once runs once, and nobody is told anything else', async () => {
    using project = temporaryProject()
    const tool = toolOf('look')
    const id = idOf()
    const opened = await Promise.all(Array.from({ length: 8 }, () => openSession(project, { tool })))
    const outcomes = await Promise.all(
      opened.flatMap(({ once }) => ['a', 'b'].map((callId) => once(id, callOf(callId), { signal: patient() }))),
    )
    expect(tool.ran).toHaveLength(1)
    const fresh = outcomes.filter((outcome) => outcome.kind === 'Recorded' && !outcome.replayed)
    expect(fresh).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.kind !== 'InProgress') expect(outcome).toMatchObject({ ...fresh[0], replayed: expect.any(Boolean) })
    }
    for (const { session, journal, once } of opened) {
      expect(await once(id, callOf('c'))).toMatchObject({ kind: 'Recorded', replayed: true })
      await session.close()
      expect(treeHolds(await treeOf(journal))).toBe(true)
      await journal.close()
    }
    expect(tool.ran).toHaveLength(1)
  })

  test('is in progress for another session while it runs', async () => {
    using project = temporaryProject()
    const [entered, answer] = [latch(), latch<string>()]
    const tool = toolOf('look', async () => {
      entered.open()
      return await answer.promise
    })
    const id = idOf()
    await using open = await openSession(project, { tool })
    await using other = await openSession(project, { tool })
    const running = open.once(id, callOf('a'))
    await entered.promise
    expect(await other.once(id, callOf('a'))).toEqual({ kind: 'InProgress' })
    answer.open('seen')
    expect(await running).toMatchObject({ kind: 'Recorded' })
    expect(await other.once(id, callOf('b'))).toMatchObject({ kind: 'Recorded', replayed: true })
    await other.session.close()
    await open.session.close()
  })

  test('under the inline policy of an agent is judged by it, and its run bears the name of the agent', async () => {
    using project = temporaryProject()
    const tool = toolOf('look')
    const policy = policyIn('agent reader { policy restricted { deny: "look" } }')
    await using open = await openSession(project, { tool, box: (inner) => restrictedBy(inner, policy) })
    expect(await open.once(idOf(), callOf('a'))).toMatchObject({
      observation: { metadata: { error_type: 'policy_denied' }, content: expect.stringContaining('restricted') },
    })
    await open.session.close()
    expect(tool.ran).toHaveLength(0)
    expect(storyOf(await treeOf(open.journal)).map(([name, result]) => [name, result])).toEqual([
      ['reader', 'verified'],
      ['look', 'verified'],
    ])
  })

  test('is followed by "audit show" and "audit verify --tree", as a delegation to its tool', async () => {
    using project = temporaryProject()
    await using open = await openSession(project)
    await open.session.call(callOf('plain'), patient())
    await open.once(idOf(), callOf('identified', 'look', { at: 'b' }))
    await open.session.close()
    const audit = (...args: readonly string[]) =>
      inProcess(['audit', ...args, open.journal.audit.run_id, '--project', project.root], { env: { COLUMNS: '100' } })
    const tree = await audit('verify', '--tree', '--complete')
    expect([tree.code, tree.stderr]).toEqual([0, ''])
    expect(tree.stdout).toMatch(/└─ look +\S+ +\d+ +Completed +verified/)
    expect(tree.stdout).toContain('2 runs: 2 verified, and the link matches')
    const shown = await audit('show')
    expect(shown.code).toBe(0)
    expect(shown.stdout).toMatch(/intent +look, under an id of its caller: run/)
    expect(shown.stdout).toMatch(/receipt +run \S+ completed/)
    expect(shown.stdout).toMatch(/── run of look, begun by agent \S+ at #5/)
    expect(shown.stdout).toMatch(/invocation mcp:call:v1 \S+/)
    expect(shown.stdout).toContain('intent    look {"at":"b"}')
  })
})

describe('a call with an id that policy does not let pass', () => {
  test.each<[string, BrokerCall]>([
    ['is denied', callOf('a', 'look', { forbidden: true })],
    ['does not fit its schema', callOf('a', 'look', { text: 'x' })],
    ['names no tool', callOf('a', 'unknown')],
  ])('because it %s is a recorded run with that result, and its id never runs', async (_what, call) => {
    using project = temporaryProject()
    const base = toolOf('look')
    const definition = {
      ...base.definition,
      parameters: { type: 'object', properties: { forbidden: { type: 'boolean' } } },
    }
    const tool = { ...base, definition }
    const id = idOf()
    await using open = await openSession(project, { tool })
    const denial = await open.once(id, call)
    expect(denial).toMatchObject({
      kind: 'Recorded',
      observation: { is_error: true, metadata: { error_type: 'policy_denied' } },
      hint: expect.stringContaining('new one'),
    })
    expect(await open.once(id, { ...call, call_id: 'b' })).toEqual({ ...denial, replayed: true })
    expect(await open.session.call(callOf('c'), patient())).toMatchObject({ is_error: false })
    await open.session.close()
    expect(base.ran).toHaveLength(1)
    expect(storyOf(await treeOf(open.journal)).map(([, result, reason]) => [result, reason])).toEqual([
      ['verified', 'Completed'],
      ['verified', 'Completed'],
    ])
  })

  test('because it is held runs once it is approved: the same call, with the handle, under a new id', async () => {
    using project = temporaryProject()
    const tool = toolOf('look')
    const holding = holdingGate(nodeWorld())
    await using open = await openSession(project, { tool, gate: holding.gate })
    await using other = await openSession(project, { tool, gate: holding.gate })
    const [held, next, spent] = [idOf(), idOf(), idOf()]
    const pending = await open.once(held, callOf('a'))
    expect(pending).toMatchObject({
      kind: 'Recorded',
      observation: { metadata: { error_type: 'approval_pending' } },
      hint: expect.stringContaining('new invocation id'),
    })
    const { observation } = pending as Extract<IdentifiedOutcome, { kind: 'Recorded' }>
    const presented = String(observation.metadata?.approval_id)
    holding.approve(presented)
    expect(await open.once(held, callOf('b'), { presented })).toEqual({ ...pending, replayed: true })
    expect(await other.once(idOf(), callOf('b'), { presented })).toMatchObject({ observation: { is_error: true } })
    expect(tool.ran).toHaveLength(0)
    const done = await open.once(next, callOf('c'), { presented })
    expect(done).toMatchObject({ kind: 'Recorded', observation: { is_error: false } })
    expect(await open.once(next, callOf('d'), { presented })).toEqual({ ...done, replayed: true })
    expect(await open.once(spent, callOf('e'), { presented })).toMatchObject({ observation: { is_error: true } })
    expect(tool.ran).toHaveLength(1)
    await open.session.close()
    await other.session.close()
    expect(treeHolds(await treeOf(open.journal))).toBe(true)
  })
})

/** Holds every call, keeps what was approved by session and tool, and spends an approval once. */
function holdingGate(world: World): { readonly gate: Gate; approve(handle: string): void } {
  const held = new Map<string, { readonly name: string; readonly binding: Hash; approved: boolean }>()
  const gate: Gate = {
    name: 'holding',
    approve: async (question) => {
      const { call, run, presented, remainingMs } = question
      const name = JSON.stringify([call.contract?.name ?? '', call.arguments])
      const binding = heldBinding(question)
      const known = presented === null ? undefined : held.get(presented)
      if (presented !== null && known?.approved === true && known.name === name && known.binding === binding) {
        held.delete(presented)
        const resolution = {
          escalation_id: presented,
          agent_id: run.agent_id,
          decision: 'approve',
          approver: { id: 'a person' },
          at: world.clock.wall(),
        } as const
        const parts = { id: presented, call, run, resolution, lifetimeMs: 60_000, remainingMs }
        return { kind: 'Approved', approval: giveApproval(parts, world.clock) }
      }
      if (presented !== null) return { kind: 'Refused', reason: 'the handle is not good for this call' }
      const approval_id = `handle-${held.size}-${randomUUID()}`
      held.set(approval_id, { name, binding, approved: false })
      return { kind: 'Pending', reason: 'a person decides', approval_id, expires_at: world.clock.wall() }
    },
    decide: async () => ({ kind: 'Allow', policies: [] }),
  }
  return {
    gate,
    approve: (handle) => {
      const known = held.get(handle)
      if (known !== undefined) known.approved = true
    },
  }
}

describe('a call with an id whose outcome is not known', () => {
  test('is told to its caller, ends the session, and is unresolved for ever', async () => {
    using project = temporaryProject()
    const tool = toolOf('look', async () => {
      throw new Error('broken')
    })
    const id = idOf()
    await using open = await openSession(project, { tool })
    const outcome = await open.once(id, callOf('a'))
    expect(outcome).toMatchObject({ kind: 'Unresolved', observation: { metadata: { effect_outcome: 'unknown' } } })
    expect(open.session.failureReason).toMatch(/unconfirmed.*reconciliation/)
    await expect(open.once(id, callOf('b'))).rejects.toMatchObject({ code: 'TOOL_SESSION_CLOSED' })
    await expect(open.session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
    await using later = await openSession(project, { tool })
    const { audit } = outcome as Extract<IdentifiedOutcome, { kind: 'Unresolved' }>
    expect(await later.once(id, callOf('a'))).toEqual({ kind: 'Unresolved', audit, observation: null })
    await later.session.close()
    expect(tool.ran).toHaveLength(1)
    const tree = await treeOf(open.journal)
    expect(storyOf(tree).map(([, result, , problems]) => [result, problems])).toEqual([
      ['verified', []],
      ['verified', []],
    ])
    expect(tree.root.report?.requires_reconciliation).toBe(true)
  })

  test('is reconciled once an operator has looked, and does not run then either', async () => {
    using project = temporaryProject()
    const tool = toolOf('look', async () => {
      throw new Error('broken')
    })
    const id = idOf()
    await using open = await openSession(project, { tool })
    await open.once(id, callOf('a'))
    await expect(open.session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
    const { snapshot_hash } = await open.claims.inspect('mcp:call:v1', id, never)
    const review = {
      snapshot_hash: snapshot_hash as Hash,
      outcome: 'no_effects',
      rationale: 'looked at the other side',
      evidence: [{ reference: 'a log', sha256: hexHash('a log') }],
      effects_stopped: true,
    } as const
    await open.claims.reconcile('mcp:call:v1', id, review, never)
    await using later = await openSession(project, { tool })
    expect(await later.once(id, callOf('a'))).toMatchObject({ kind: 'Reconciled' })
    await later.session.close()
    expect(tool.ran).toHaveLength(1)
  })

  test.each(['cancel', 'close', 'leave'] as const)(
    'because of %s leaves two journals with an end, the run first, and a session in an error',
    async (end) => {
      using project = temporaryProject()
      const entered = latch()
      const tool = toolOf('look', async (_args, { signal }) => {
        entered.open()
        return await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      })
      const id = idOf()
      const leaving = new AbortController()
      await using open = await openSession(project, { tool })
      const running = open.once(id, callOf('a'), { signal: leaving.signal })
      const told = running.then(
        ({ kind }) => kind,
        (error: Error) => error.message,
      )
      await entered.promise
      if (end === 'cancel') open.session.cancel()
      if (end === 'leave') leaving.abort(new Error('left'))
      await expect(open.session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
      expect(await told).toBe(end === 'leave' ? 'left' : 'Unresolved')
      const tree = await treeOf(open.journal)
      expect(storyOf(tree).map(([, result, reason, problems]) => [result, typeof reason, problems])).toEqual([
        ['verified', 'object', []],
        ['verified', 'object', []],
      ])
      await using later = await openSession(project, { tool })
      expect(await later.once(id, callOf('a'))).toMatchObject({ kind: 'Unresolved' })
      await later.session.close()
    },
  )

  test('because its caller left before it began is a recorded failure, and does not run later either', async () => {
    using project = temporaryProject()
    const tool = toolOf('look')
    const id = idOf()
    const leaving = new AbortController()
    let appends = 0
    const world = watchedWorld((operation, path) => {
      if (operation !== 'append' || !path.startsWith(project.governed) || !path.endsWith('.jsonl')) return
      appends += 1
      if (appends === 3) leaving.abort(new Error('left')) // the start of the session, its intent, and then the start of the run
    })
    await using open = await openSession(project, { tool, world })
    await expect(open.once(id, callOf('a'), { signal: leaving.signal })).rejects.toThrow('left')
    await expect(open.session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
    await using later = await openSession(project, { tool })
    expect(await later.once(id, callOf('b'))).toMatchObject({ kind: 'Failed', replayed: true, reason: { Error: {} } })
    expect(await later.session.call(callOf('c'), never)).toMatchObject({ is_error: false })
    await later.session.close()
    expect(tool.ran).toHaveLength(1)
    expect(storyOf(await treeOf(open.journal)).map(([, result, , problems]) => [result, problems])).toEqual([
      ['verified', []],
      ['verified', []],
    ])
  })

  test('because its journal was lengthened before it was read back is not believed, although it says that it completed', async () => {
    using project = temporaryProject()
    const id = idOf()
    let own = ''
    const world = watchedWorld((operation, path) => {
      const ofRun = path.startsWith(project.governed) && path.endsWith('.jsonl') && own !== '' && path !== own
      if (operation === 'close' && ofRun) writeFileSync(path, 'x', { flag: 'a' })
    })
    await using open = await openSession(project, { world })
    own = open.journal.audit.path
    expect(await open.once(id, callOf('a'))).toMatchObject({ kind: 'Unresolved' })
    expect(open.session.failureReason).toMatch(/unconfirmed/)
    await expect(open.session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
    const { root } = await treeOf(open.journal)
    expect(root.report?.effects.map(({ finish_sequence, outcome }) => [finish_sequence, outcome])).toEqual([
      [null, 'unknown'],
    ])
    await using later = await openSession(project)
    expect(await later.once(id, callOf('b'))).toMatchObject({ kind: 'Unresolved' })
    await later.session.close()
  })

  test('whose saved result was changed is refused, because its signed journal says otherwise', async () => {
    using project = temporaryProject()
    const id = idOf()
    await using open = await openSession(project)
    await open.once(id, callOf('a'))
    await open.session.close()
    const name = readdirSync(project.invocations).find((one) => one.endsWith('.jsonl')) ?? ''
    const path = join(project.invocations, name)
    writeFileSync(path, readFileSync(path, 'utf8').replace('"content":"fine"', '"content":"evil"'))
    await using later = await openSession(project)
    await expect(later.once(id, callOf('a'))).rejects.toMatchObject({ code: 'EVIDENCE_INVALID' })
    await later.session.close()
  })

  test('because the session cannot record its intent never begins', async () => {
    using project = temporaryProject()
    const tool = toolOf('look')
    const id = idOf()
    await using open = await openSession(project, { tool })
    writeFileSync(open.journal.audit.path, 'x', { flag: 'a' })
    await expect(open.once(id, callOf('a'))).rejects.toMatchObject({ code: 'JOURNAL_CHANGED' })
    expect(open.session.ended.aborted).toBe(true)
    await using later = await openSession(project, { tool })
    expect(await later.once(id, callOf('a'))).toMatchObject({ kind: 'Unresolved' })
    await later.session.close()
    expect(tool.ran).toHaveLength(0)
  })
})

describe('any order of calls with ids', () => {
  const op = fc.record({
    session: fc.integer({ min: 0, max: 1 }),
    id: fc.integer({ min: 0, max: 2 }),
    args: fc.constantFrom({ at: 1 }, { at: 2 }, { forbidden: true }),
  })

  test('over two sessions runs every id once, for whom asked first, and repeats that answer or refuses', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(op, { maxLength: 8 }), async (ops) => {
        using project = temporaryProject()
        const tool = toolOf('look')
        const opened = [await openSession(project, { tool }), await openSession(project, { tool })]
        const ids = [idOf(), idOf(), idOf()]
        const model = new Map<number, { readonly args: string; readonly answer: IdentifiedOutcome }>()
        let effects = 0
        for (const [nth, { session, id, args }] of ops.entries()) {
          const known = model.get(id)
          const call = callOf(`c${nth}`, 'look', args)
          const made = (opened[session] as Open).once(ids[id] as InvocationId, call)
          if (known !== undefined && known.args !== JSON.stringify(args)) {
            await expect(made).rejects.toMatchObject({ code: 'INVOCATION_CONFLICT' })
            continue
          }
          const answer = await made
          if (known === undefined) {
            const denied = 'forbidden' in args
            effects += denied ? 0 : 1
            expect(answer).toMatchObject({ kind: 'Recorded', replayed: false, observation: { is_error: denied } })
            model.set(id, { args: JSON.stringify(args), answer })
          } else expect(answer).toEqual({ ...known.answer, replayed: true })
          expect(tool.ran).toHaveLength(effects)
        }
        for (const { session, journal } of opened) {
          await session.close()
          const tree = await treeOf(journal)
          expect(runsOf(tree.root).map(({ node }) => node.result)).toEqual(runsOf(tree.root).map(() => 'verified'))
          await journal.close()
        }
      }),
      { numRuns: 12 },
    )
  }, 30_000)
})

describe('a process that dies at a write of a call with an id', () => {
  /** The whole life of a session with one such call; tells what it wrote to, in order, and how far it came. */
  async function live(
    project: TemporaryProject,
    id: InvocationId,
    tool: Tool,
    world: World,
  ): Promise<Journal['audit']> {
    const open = await openSession(project, { tool, world })
    reached.set(id, open.journal.audit)
    await open.once(id, callOf('a'))
    await open.session.close()
    await open.journal.close()
    return open.journal.audit
  }
  const reached = new Map<string, Journal['audit']>()

  test('leaves a tree without a contradiction, and an id that ran at most once and never runs again', async () => {
    using counting = temporaryProject()
    const counted = mortalWorld(null)
    await live(counting, idOf(), toolOf('look'), counted)
    const writes = counted.writes.length
    expect(writes).toBe(11)
    const kinds = new Set<string>()
    for (let nth = 1; nth <= writes; nth += 1) {
      for (const moment of ['before', 'torn', 'after'] as const) {
        using project = temporaryProject()
        const id = idOf()
        const tool = toolOf('look')
        const world = mortalWorld({ nth, moment })
        live(project, id, tool, world).catch(() => undefined) // a dead process tells nobody how it went on
        await world.died
        const effects = tool.ran.length
        const audit = reached.get(id)
        if (audit !== undefined) {
          const tree = await treeOf({ audit, principal })
          const where = { nth, moment, story: storyOf(tree) }
          expect([where, treeHolds(tree)]).toEqual([where, true])
          if (effects > 0) expect(runsOf(tree.root)).toHaveLength(2) // the intent of both was durable before
        }
        await using later = await openSession(project, { tool })
        const outcome = await later.once(id, callOf('b'))
        const fresh = outcome.kind === 'Recorded' && !outcome.replayed
        kinds.add(fresh ? 'fresh' : outcome.kind)
        const place = { nth, moment, effects, kind: outcome.kind }
        if (fresh) expect([place, effects]).toEqual([place, 0])
        expect([place, tool.ran.length]).toEqual([place, fresh ? 1 : effects])
        expect(await later.once(id, callOf('c'))).toMatchObject({ kind: fresh ? 'Recorded' : outcome.kind })
        expect(tool.ran.length).toBe(fresh ? 1 : effects)
        await later.session.close()
      }
    }
    expect([...kinds].sort()).toEqual(['Recorded', 'Unresolved', 'fresh'])
  }, 60_000)
})
