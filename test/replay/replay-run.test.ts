import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { JsonObject, RunId } from '../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG } from '../../src/events/index.ts'
import { parsePublicKey } from '../../src/keys/index.ts'
import { PolicyFolder } from '../policy/support.ts'
import { AGENT, madeKey, makeLines, RUN, TERMINATED } from '../support/journal-maker.ts'
import { scratch } from '../support/scratch.ts'
import { family, Tale } from '../support/told-runs.ts'
import { governedRun, type Proposed, type Ran, replayOf } from './support.ts'

const disk = scratch()
const made = madeKey(1)
const key = parsePublicKey(made.publicHex)

const PERMITS = 'permit(principal, action, resource);'
const FORBIDS = '@id("never") forbid(principal, action, resource);'
const call = (name: string, value: object = {}): Proposed => ({ id: 'c1', name, arguments: JSON.stringify(value) })

async function ran(policies: string, ...calls: readonly Proposed[]): Promise<Ran> {
  await using folder = await PolicyFolder.make({ 'a.cedar': policies })
  return await governedRun({
    directory: disk.path('governed'),
    policies: folder.path,
    replies: calls.map((one) => [one]),
  })
}

/** A journal that another writer made. */
function written(...events: readonly unknown[]): Pick<Ran, 'path' | 'runId' | 'key'> {
  const path = disk.path(`${AGENT}.${RUN}.jsonl`)
  writeFileSync(path, Buffer.concat(makeLines({ key: made, events: [...events, TERMINATED] })))
  return { path, runId: RUN as RunId, key }
}

const started = (execution_context?: JsonObject) => ({
  Started: {
    agent_id: AGENT,
    config: DEFAULT_LOOP_CONFIG,
    ...(execution_context === undefined ? {} : { execution_context }),
  },
})
const evaluated = (parts: { approved?: readonly unknown[]; denied?: readonly unknown[]; actions?: number }) => {
  const { approved = [], denied = [], actions = approved.length + denied.length } = parts
  const counts = { iteration: 1, action_count: actions, denied_count: denied.length }
  return { PolicyEvaluated: { ...counts, approved_calls: approved, denied_calls: denied } }
}

describe('a decision that would change', () => {
  test('says what was judged, who decided before, and who would decide where', async () => {
    const run = await ran(PERMITS, call('read', { path: '/a' }))
    await using candidate = await PolicyFolder.make({
      'a.cedar': PERMITS,
      'b.cedar': `// no reading\n${FORBIDS.replace('action,', 'action == Action::"tool_call::read",')}`,
    })
    const { differences, judged } = await replayOf(run, candidate.path)
    expect(judged).toBe(2) // the call, and the answer
    expect(differences).toMatchObject([
      {
        kind: 'changed',
        run_id: run.runId,
        subject: 'read',
        surface: 'coordinator',
        judged: { call: { arguments: { path: '/a' } }, approvedFingerprint: null },
        before: { decision: 'allow', policies: ['a'], errors: [] },
        after: { decision: 'deny', policies: ['never'], places: [{ name: 'never', file: 'b.cedar', line: 2 }] },
      },
    ])
    const entry = run.entries.find(({ sequence }) => sequence === differences[0]?.sequence)
    expect([entry?.event.kind, entry?.timestamp]).toEqual(['PolicyEvaluated', differences[0]?.timestamp])
  })

  test('is told apart from one that other policies would make alike, or that would fail', async () => {
    const run = await ran('permit(principal, action == Action::"respond", resource);', call('read'))
    await using candidate = await PolicyFolder.make({
      'b.cedar': `permit(principal, action == Action::"respond", resource);
        forbid(principal, action == Action::"tool_call::read", resource) when { context.gone };`,
    })
    const { differences, policies_differ } = await replayOf(run, candidate.path)
    expect(policies_differ).toBe(2)
    expect(differences.map(({ kind, before, after }) => [kind, before.decision, after.decision])).toEqual([
      ['policies', 'deny', 'deny'],
      ['policies', 'allow', 'allow'],
    ])
    expect(differences[0]?.after.errors).toEqual([expect.stringContaining('b#2: ')])
  })

  test('is judged with the approval that was given, and as the call became that policy changed', async () => {
    const run = await ran(PERMITS, call('pay', { ask: 'approve' }), call('fix', { n: 1 }))
    await using candidate = await PolicyFolder.make({
      'a.cedar': `permit(principal, action, resource) when { context.has_human_approval };
        permit(principal, action == Action::"tool_call::fix", resource) when { context.invocation.arguments.fixed };`,
    })
    const { differences } = await replayOf(run, candidate.path)
    expect(differences.map(({ kind, subject }) => [kind, subject])).toEqual([
      ['policies', 'fix'],
      ['changed', 'respond'],
    ])
  })

  test('takes a call that was shown to nobody because policy denies it even when it is approved', async () => {
    const limited = (cents: number) => `permit(principal, action == Action::"respond", resource);
      @id("limit") forbid(principal, action, resource) when { context.invocation.arguments has cents
        && context.invocation.arguments.cents > ${cents} };
      permit(principal, action, resource) when { context.has_human_approval };`
    const run = await ran(limited(50), call('pay', { ask: 'queue', cents: 90 }))
    expect(run.decisions[0]?.denied_calls).toMatchObject([
      { denied_by: 'policy', approval: 'assumed', determining_policies: ['limit'] },
    ])
    await using candidate = await PolicyFolder.make({ 'a.cedar': limited(100) })
    const { differences } = await replayOf(run, candidate.path)
    expect(differences).toMatchObject([{ kind: 'changed', subject: 'pay', after: { decision: 'allow' } }])
    await using same = await PolicyFolder.make({ 'a.cedar': limited(60) })
    expect((await replayOf(run, same.path)).differences).toEqual([])
  })

  test('does not take what an inline policy refused, or a person', async () => {
    await using folder = await PolicyFolder.make({ 'a.cedar': PERMITS })
    const run = await governedRun({
      directory: disk.path('governed'),
      policies: folder.path,
      replies: [[call('read')], [call('pay', { ask: 'hold' })], [call('pay', { ask: 'refuse' })]],
      inline: 'policy narrow { deny: "read" }',
    })
    await using nothing = await PolicyFolder.make()
    const { differences, judged, not_judged } = await replayOf(run, nothing.path)
    expect(judged).toBe(1) // the answer, which is allowed without policies, too
    expect(differences).toMatchObject([{ kind: 'policies', subject: 'respond', agent: 'fixture' }])
    expect(not_judged).toEqual({ preparation: 0, restriction: 1, approval: 1, held: 1, runtime: 0 })
  })
})

describe('a journal', () => {
  test('that was changed anywhere is refused as a whole, and nothing of it is told', async () => {
    const run = await ran(PERMITS, call('read'))
    await using candidate = await PolicyFolder.make({ 'a.cedar': FORBIDS })
    expect((await replayOf(run, candidate.path)).differences).toHaveLength(2)
    const text = readFileSync(run.path, 'utf8')
    const last = text.lastIndexOf('Terminated')
    writeFileSync(run.path, `${text.slice(0, last)}terminated${text.slice(last + 10)}`)
    await expect(replayOf(run, candidate.path)).rejects.toMatchObject({ code: 'EVIDENCE_INVALID' })
  })

  test('of a run that crashed is judged as far as it goes', async () => {
    const run = await ran(PERMITS, call('read'))
    const lines = readFileSync(run.path, 'utf8').split('\n')
    const at = lines.findIndex((line) => line.includes('"PolicyEvaluated"'))
    writeFileSync(run.path, `${lines.slice(0, at + 1).join('\n')}\n{"payload":{"en`)
    await using candidate = await PolicyFolder.make({ 'a.cedar': FORBIDS })
    expect((await replayOf(run, candidate.path)).differences.map(({ subject }) => subject)).toEqual(['read'])
  })

  test('of an older writer is counted as what it is: what it does not say is not guessed', async () => {
    const run = await ran(PERMITS, call('read'))
    const [view] = run.decisions[0]?.approved_calls ?? []
    const { fingerprint, action, arguments: value, contract, resolved } = view as JsonObject
    const record = { fingerprint, action, arguments: value, contract, resolved }
    const denial = { action, reason: 'no', determining_policies: [] }
    const whole = { ...record, determining_policies: ['a'], approval: null }
    const decisions = evaluated({
      approved: [whole, { ...whole, resolved: { url: 'x' } }, { action, fingerprint }, { ...record, approval: null }],
      denied: [
        denial,
        { ...denial, call: record },
        { ...denial, call: record, pending_approval: { approval_id: 'a' } },
      ],
      actions: 9,
    })
    await using candidate = await PolicyFolder.make({ 'a.cedar': PERMITS })
    const unknown = 4 + 2 // another fingerprint, no call, no policies, no step; and two that were only counted
    expect(await replayOf(written(started({}), decisions), candidate.path)).toMatchObject({
      judged: 1,
      unknown,
      not_judged: { preparation: 1, held: 1 },
      differences: [],
    })
    expect(await replayOf(written(started(), decisions), candidate.path)).toMatchObject({
      judged: 0,
      unknown: unknown + 1,
    })
    expect(await replayOf(written(decisions), candidate.path)).toMatchObject({ judged: 0, unknown: unknown + 1 })
  })
})

describe('the surface of a run', () => {
  const decided = async (context: JsonObject) => {
    const run = await ran(PERMITS, call('read'))
    const [event] = run.decisions
    return written(started(context), evaluated({ approved: event?.approved_calls ?? [] }))
  }

  test.each([
    [{ invocation: { scope: 'ws:chat:v1' } }, 'coordinator'],
    [{ invocation: { scope: 'cli:orga' } }, 'run'],
    [{ invocation: { scope: 'mcp:call:v1' } }, 'mcp-server'],
    [{ surface: 'eval', invocation: { scope: 'cli:orga' } }, 'eval'],
  ])('is what its start says: %j', async (context, surface) => {
    await using candidate = await PolicyFolder.make({ 'a.cedar': PERMITS, [`${surface}/no.cedar`]: FORBIDS })
    const run = await decided(context)
    expect((await replayOf(run, candidate.path, null)).differences).toMatchObject([{ kind: 'changed', surface }])
    expect((await replayOf(run, candidate.path, 'other')).differences).toEqual([])
  })

  test.each([{}, { invocation: { scope: 'lib:own' } }, { surface: '../x' }, { surface: 7 }])(
    'is not guessed where nothing is said: %j',
    async (context) => {
      await using candidate = await PolicyFolder.make({ 'a.cedar': PERMITS })
      const run = await decided(context)
      await expect(replayOf(run, candidate.path, null)).rejects.toMatchObject({ code: 'SURFACE_UNKNOWN' })
      expect((await replayOf(run, candidate.path, 'run')).judged).toBe(1)
    },
  )

  test('of a delegated run is that of the run at the top of its chain, where that is proven', async () => {
    const { tale, parent, grandchild } = family()
    const folder = disk.folder()
    const [event] = (await ran(PERMITS, call('read'))).decisions
    const top = parent.find('Started')
    top.event = {
      ...top.event,
      execution_context: { ...top.event.execution_context, invocation: { scope: 'cli:orga' } },
    }
    const judged = grandchild.find('PolicyEvaluated')
    judged.event = { ...judged.event, approved_calls: event?.approved_calls ?? [] }
    tale.write(folder)
    await using candidate = await PolicyFolder.make({ 'a.cedar': PERMITS, 'run/no.cedar': FORBIDS })
    const run = { path: grandchild.pathIn(folder), runId: grandchild.runId, key: parsePublicKey(tale.key.publicHex) }
    expect((await replayOf(run, candidate.path, null)).differences).toMatchObject([{ surface: 'run', subject: 'read' }])
    writeFileSync(parent.pathIn(folder), Buffer.concat(new Tale(2).root().lines())) // of another key, and another run
    await expect(replayOf(run, candidate.path, null)).rejects.toMatchObject({ code: 'SURFACE_UNKNOWN' })
  })
})

test('a candidate that cannot be used is an error, not a candidate that denies', async () => {
  const run = await ran(PERMITS, call('read'))
  await using broken = await PolicyFolder.make({ 'a.cedar': 'permit(' })
  await expect(replayOf(run, broken.path)).rejects.toMatchObject({ code: 'POLICY_INVALID' })
  await expect(replayOf(run, join(broken.path, 'none'))).rejects.toMatchObject({ code: 'POLICY_UNREADABLE' })
  await expect(replayOf(run, broken.at('a.cedar'))).rejects.toMatchObject({ code: 'POLICY_UNREADABLE' })
})
