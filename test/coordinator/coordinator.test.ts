import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { networkCaller, SDK_FINGERPRINT } from '../../src/access/index.ts'
import type { ServerMessage } from '../../src/coordinator/index.ts'
import type { Entry, EventOf } from '../../src/events/index.ts'
import { CHAT_TEXT, Fixture, REVIEWER, until } from '../support/coordinator-fixture.ts'

const NIL = '00000000-0000-0000-0000-000000000000'

describe('C1: turns over a socket', () => {
  test('wrong tokens are refused before the upgrade, and turns are persisted before their effects [C1.1, C1.2, C1.3, C1.4, C1.5, C1.6, C1.7, C1.8, I1, I2, I3, I10, I11, I12, I13, I14]', async () => {
    await using fixture = await Fixture.start('Normal')
    for (const token of ['', 'scoped.test-only-secret', 'fixture.wrong-secret'])
      expect(await fixture.refusedStatus(token)).toBe(401)
    const client = await fixture.connect()
    const runs: string[] = []
    for (let turn = 0; turn < 2; turn += 1) {
      client.chat(randomUUID())
      const audit = fixture.checkedAudit(await client.next())
      const final = await client.final()
      expect(final).toMatchObject({
        type: 'ChatChunk',
        done: true,
        replayed: false,
        content: expect.stringContaining('fixture-healthy'),
      })
      const entries = await fixture.entriesOf(audit)
      expect(entries.every(({ agent_id }) => agent_id === fixture.coordinator.principal)).toBe(true)
      expect(entries.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: 'Completed' })
      runs.push(audit.run_id)
    }
    expect(new Set(runs).size).toBe(2)
    expect(fixture.counts.api).toBe(2)
    await client.close()
    await fixture.finish()
  })

  test('the decision, the call and its result are told while the turn runs', async () => {
    await using fixture = await Fixture.start('Normal')
    const client = await fixture.connect()
    const id = randomUUID()
    client.chat(id)
    const seen: ServerMessage[] = []
    for (let message = await client.next(); ; message = await client.next()) {
      seen.push(message)
      if (message.type === 'ChatChunk') break
    }
    expect(seen.map(({ type }) => type)).toEqual([
      'AuditOpened',
      'PolicyDecision',
      'ToolCallStarted',
      'ToolCallResult',
      'PolicyDecision',
      'ChatChunk',
    ])
    expect(seen[1]).toMatchObject({ request_id: id, action: '1 actions', decision: 'allow' })
    expect(seen[2]).toMatchObject({
      request_id: id,
      call_id: 'health-call',
      tool_name: 'system_health',
      arguments: '{}',
    })
    expect(seen[3]).toMatchObject({
      request_id: id,
      call_id: 'health-call',
      is_error: false,
      result: expect.stringContaining('fixture-healthy'),
    })
    await client.close()
    await fixture.finish()
  })
})

test('C2: unsafe storage prevents the inference [C2.1, C2.2, I13]', async () => {
  await using fixture = await Fixture.start('Normal', { unsafeStorage: true })
  const client = await fixture.connect()
  client.chat(randomUUID())
  expect(await client.next()).toMatchObject({ type: 'Error', code: 'AUDIT_UNAVAILABLE' })
  expect(fixture.counts).toMatchObject({ inference: 0, api: 0 })
  await client.close()
  await fixture.finish()
})

test('C3: a journal that was damaged prevents the proposed call [C3.1, C3.2, C3.3, I13]', async () => {
  await using fixture = await Fixture.start('DamageJournal')
  const client = await fixture.connect()
  client.chat(randomUUID())
  const audit = fixture.checkedAudit(await client.next())
  expect(await client.next()).toMatchObject({ type: 'Error', code: 'INVOCATION_UNRESOLVED' })
  expect(fixture.counts).toMatchObject({ inference: 1, api: 0 })
  await expect(fixture.entriesOf(audit)).rejects.toMatchObject({ code: 'EVIDENCE_INVALID' })
  await client.close()
  await fixture.finish()
})

test('C4: a disconnect cancels the inference and keeps the terminal record [C4.1, C4.2, C4.3, C4.4, C4.5, C4.6, C4.7, I13]', async () => {
  await using fixture = await Fixture.start('Stall')
  const client = await fixture.connect()
  const entered = fixture.entered()
  client.chat(randomUUID())
  const audit = fixture.checkedAudit(await client.next())
  await entered
  client.chat('large', 'x'.repeat(64 * 1024 + 1))
  expect(await client.next()).toMatchObject({ type: 'Error', code: 'MESSAGE_TOO_LARGE', request_id: null })
  client.chat(randomUUID())
  expect(await client.next()).toMatchObject({ type: 'AuditOpened' })
  client.chat(randomUUID())
  expect(await client.next()).toMatchObject({ type: 'Error', code: 'SESSION_BUSY' })
  await client.close()
  await until(
    'the run ends with its terminal record',
    async () => {
      const last = (await fixture.entriesOf(audit)).at(-1)?.event
      return last?.kind === 'Terminated' && typeof last.reason === 'object' && 'Error' in last.reason
    },
    2000,
  )
  expect(fixture.counts).toMatchObject({ inference: 1, api: 0, aborted: 1 })
  await fixture.finish()
  expect(fixture.counts.inference).toBe(1)
})

test('C10: an id returns its saved result over connections, bound to caller and content [C10.1, C10.2, C10.3, C10.4, C10.5, C10.6, I13]', async () => {
  await using fixture = await Fixture.start('Normal')
  const id = randomUUID()
  const first = await fixture.connect()
  first.chat(id)
  const audit = fixture.checkedAudit(await first.next())
  const original = await first.final()
  expect(original).toMatchObject({
    type: 'ChatChunk',
    replayed: false,
    content: expect.stringContaining('fixture-healthy'),
  })
  const bytes = readFileSync(audit.path)
  for (const again of [() => first.chat(id), () => first.inspect(id)]) {
    again()
    expect(fixture.checkedAudit(await first.next()).run_id).toBe(audit.run_id)
    expect(await first.next()).toEqual({ ...original, replayed: true })
  }
  first.chat(id, 'Different request')
  expect(await first.next()).toMatchObject({ type: 'Error', code: 'INVOCATION_CONFLICT' })
  await first.close()
  const reconnected = await fixture.connect()
  reconnected.inspect(id)
  fixture.checkedAudit(await reconnected.next())
  expect(await reconnected.next()).toMatchObject({ type: 'ChatChunk', replayed: true })
  const other = await fixture.connect('other')
  other.inspect(id)
  expect(await other.next()).toMatchObject({ type: 'Error', code: 'INVOCATION_CONFLICT' })
  expect(readFileSync(audit.path).equals(bytes)).toBe(true)
  expect(fixture.counts).toMatchObject({ inference: 2, api: 1 })
  await other.close()
  await reconnected.close()
  await fixture.finish()
})

test('C11: looking up and invalid ids create nothing and run nothing [C11.1, C11.2, C11.3, I13]', async () => {
  await using fixture = await Fixture.start('Normal')
  const client = await fixture.connect()
  client.inspect(randomUUID())
  expect(await client.next()).toMatchObject({ type: 'Error', code: 'INVOCATION_NOT_FOUND' })
  client.chat(NIL)
  expect(await client.next()).toMatchObject({ type: 'Error', code: 'INVALID_INVOCATION_ID', request_id: null })
  expect(fixture.claimsExist()).toBe(false)
  expect(fixture.counts.inference).toBe(0)
  await client.close()
  await fixture.finish()
})

test('C12: active and queued claims survive a disconnect and are never run again [C12.1, C12.2, C12.3, C12.4, C12.5, C12.6, C12.7, I13]', async () => {
  await using fixture = await Fixture.start('Stall')
  const [active, queued] = [randomUUID(), randomUUID()]
  const first = await fixture.connect()
  const entered = fixture.entered()
  first.chat(active, 'hold')
  const activeAudit = fixture.checkedAudit(await first.next())
  await entered
  first.chat(queued, 'queued')
  const queuedAudit = fixture.checkedAudit(await first.next())
  first.chat(queued, 'queued')
  expect(await first.next()).toMatchObject({ type: 'Error', code: 'INVOCATION_IN_PROGRESS' })
  const second = await fixture.connect()
  second.chat(active, 'hold')
  expect(await second.next()).toMatchObject({ type: 'Error', code: 'INVOCATION_IN_PROGRESS' })
  await first.close()
  for (const [id, content, audit] of [
    [active, 'hold', activeAudit],
    [queued, 'queued', queuedAudit],
  ] as const) {
    await until('the claim is free', async () => {
      second.chat(id, content)
      const message = await second.next()
      if (message.type === 'Error' && message.code === 'INVOCATION_IN_PROGRESS') return false
      expect(fixture.checkedAudit(message).run_id).toBe(audit.run_id)
      expect(await second.next()).toMatchObject({ type: 'Error', code: 'INVOCATION_UNRESOLVED' })
      return true
    })
  }
  expect(readFileSync(queuedAudit.path)).toHaveLength(0)
  expect(fixture.counts).toMatchObject({ inference: 1, api: 0 })
  await second.close()
  await fixture.finish()
})

describe('C13: the in-process session', () => {
  test('no token text gives its caller identity [C13.1]', () => {
    expect(networkCaller('trusted-coordinator-sdk', null).fingerprint).not.toBe(SDK_FINGERPRINT)
  })

  test('runs an id once, has its messages when the call returns, and conflicts with the network [C13.2, C13.3, C13.4, I13]', async () => {
    await using fixture = await Fixture.start('Normal')
    const id = randomUUID()
    const messages: ServerMessage[] = []
    const session = fixture.sdkSession((message) => void messages.push(message))
    for (const replayed of [false, true]) {
      messages.length = 0
      await session.handleChatWithId(id, CHAT_TEXT)
      expect(messages.filter(({ type }) => type === 'Error')).toEqual([])
      expect(messages.at(-1)).toMatchObject({
        type: 'ChatChunk',
        request_id: id,
        replayed,
        content: expect.stringContaining('fixture-healthy'),
      })
    }
    const client = await fixture.connect()
    client.inspect(id)
    expect(await client.next()).toMatchObject({ type: 'Error', code: 'INVOCATION_CONFLICT' })
    expect(fixture.counts).toMatchObject({ inference: 2, api: 1 })
    await client.close()
    await session.close()
    await fixture.finish()
  })
})

describe('what cannot be believed', () => {
  test('a saved result that somebody changed is not replayed, although the claim reads well', async () => {
    await using fixture = await Fixture.start('Normal')
    const client = await fixture.connect()
    const id = randomUUID()
    client.chat(id)
    await client.final()
    const [name = ''] = readdirSync(fixture.invocations).filter((entry) => entry.endsWith('.jsonl'))
    const path = join(fixture.invocations, name)
    const honest = readFileSync(path, 'utf8')
    for (const lie of [
      honest.replace('fixture-healthy', 'fixture-on-fire'),
      honest.replace(
        /"payload":\{.*\}/,
        `"payload":${JSON.stringify({ version: 1, completed: false, output: '', termination_reason: 'MaxTokens' })}`,
      ),
    ]) {
      expect(lie).not.toBe(honest)
      writeFileSync(path, lie)
      client.inspect(id)
      expect(await client.next()).toMatchObject({ type: 'Error', code: 'AUDIT_UNAVAILABLE' })
    }
    writeFileSync(path, honest)
    client.inspect(id)
    expect(await client.final()).toMatchObject({ type: 'ChatChunk', replayed: true })
    await client.close()
    await fixture.finish()
  })
})

describe('an in-process session', () => {
  test('takes nothing after it was closed, and nothing that is no text', async () => {
    await using fixture = await Fixture.start('Normal')
    const session = fixture.sdkSession(() => undefined)
    await expect(session.handleChat('\ud800')).rejects.toMatchObject({ code: 'PARSE_ERROR' })
    await expect(session.handleChat(7 as never)).rejects.toMatchObject({ code: 'PARSE_ERROR' })
    await expect(session.handleChatWithId(NIL, 'x')).rejects.toMatchObject({ code: 'INVALID_INVOCATION_ID' })
    await session.close()
    await expect(session.handleChat(CHAT_TEXT)).rejects.toMatchObject({ code: 'SESSION_CLOSED' })
    expect(fixture.counts.inference).toBe(0)
    await fixture.finish()
  })
})

describe('a turn that delegates', () => {
  test('the child runs under its own principal and journal, and the two journals prove each other [C5.1, C5.2, C5.3, C5.4, C5.5, C5.6, I4, I5, I6, I7, I8, I9]', async () => {
    await using fixture = await Fixture.start('Delegate')
    const client = await fixture.connect()
    const children: string[] = []
    for (let turn = 0; turn < 2; turn += 1) {
      client.chat(randomUUID())
      const audit = fixture.checkedAudit(await client.next())
      expect(await client.final()).toMatchObject({
        type: 'ChatChunk',
        done: true,
        content: expect.stringContaining('fixture-healthy'),
      })
      const parent = await fixture.entriesOf(audit)
      const started = delegationIn(parent)
      expect(started).toMatchObject({ call_id: 'delegate-call', child_agent_id: REVIEWER })
      const child = await fixture.entriesOf(started.audit)
      expect(started.audit.run_id).not.toBe(audit.run_id)
      expect(child.every(({ agent_id }) => agent_id === REVIEWER)).toBe(true)
      expect(child.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: 'Completed' })
      const finished = parent.find(({ event }) => event.kind === 'DelegationFinished')
      expect(finished?.event).toMatchObject({ call_id: 'delegate-call', audit: started.audit, reason: 'Completed' })
      expect(String(child.at(-1)?.timestamp) <= String(finished?.timestamp)).toBe(true)
      expect(parent.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: 'Completed' })
      children.push(started.audit.run_id)
    }
    expect(new Set(children).size).toBe(2)
    expect(fixture.counts).toMatchObject({ api: 2, inference: 8 })
    await client.close()
    await fixture.finish()
  })

  test('a disconnect ends the child before the parent, and both ends are recorded [C6.1, C6.2, C6.3, C6.4, C6.5]', async () => {
    await using fixture = await Fixture.start('DelegateStall')
    const client = await fixture.connect()
    const entered = fixture.entered()
    client.chat(randomUUID())
    const audit = fixture.checkedAudit(await client.next())
    await entered
    await client.close()
    await until(
      'the parent ends with its terminal record',
      async () => (await fixture.entriesOf(audit)).at(-1)?.event.kind === 'Terminated',
      2000,
    )
    const parent = await fixture.entriesOf(audit)
    const child = await fixture.entriesOf(delegationIn(parent).audit)
    expect(child.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: { Error: expect.anything() } })
    expect(parent.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: { Error: expect.anything() } })
    expect(String(child.at(-1)?.timestamp) <= String(parent.at(-1)?.timestamp)).toBe(true)
    expect(fixture.counts).toMatchObject({ inference: 2, api: 0, aborted: 1 })
    await fixture.finish()
  })

  test('storage that became unsafe stops the parent before the child begins [C7.1, C7.2, C7.3]', async () => {
    await using fixture = await Fixture.start('DelegateUnsafeStorage')
    const client = await fixture.connect()
    client.chat(randomUUID())
    const audit = fixture.checkedAudit(await client.next())
    expect(await client.final()).toMatchObject({ type: 'Error', code: 'LOOP_ERROR' })
    expect(fixture.counts).toMatchObject({ inference: 1, api: 0 })
    const parent = await fixture.entriesOf(audit)
    expect(parent.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: { Error: expect.anything() } })
    expect(parent.some(({ event }) => event.kind === 'DelegationStarted')).toBe(false)
    await client.close()
    await fixture.finish()
  })

  test('a child whose journal was damaged stops the parent, and the turn is unresolved [C8.1, C8.2, C8.3, C8.4]', async () => {
    await using fixture = await Fixture.start('DelegateDamageJournal')
    const client = await fixture.connect()
    client.chat(randomUUID())
    const audit = fixture.checkedAudit(await client.next())
    expect(await client.final()).toMatchObject({ type: 'Error', code: 'INVOCATION_UNRESOLVED' })
    expect(fixture.counts).toMatchObject({ inference: 2, api: 0 })
    const parent = await fixture.entriesOf(audit)
    const started = delegationIn(parent)
    expect(parent.some(({ event }) => event.kind === 'DelegationFinished')).toBe(false)
    expect(parent.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: { Error: expect.anything() } })
    await expect(fixture.entriesOf(started.audit)).rejects.toMatchObject({ code: 'EVIDENCE_INVALID' })
    await client.close()
    await fixture.finish()
  })

  test('a tool that the inline policy of the child denies has no effect, and the reason reaches the reply [C9.1, C9.2, C9.3]', async () => {
    await using fixture = await Fixture.start('DelegateInlineDenied')
    const client = await fixture.connect()
    client.chat(randomUUID())
    const audit = fixture.checkedAudit(await client.next())
    expect(await client.final()).toMatchObject({
      type: 'ChatChunk',
      done: true,
      content: expect.stringContaining('inline policy restricted'),
    })
    expect(fixture.counts).toMatchObject({ inference: 4, api: 0 })
    const child = await fixture.entriesOf(delegationIn(await fixture.entriesOf(audit)).audit)
    const reasons = child.flatMap(({ event }) =>
      event.kind === 'PolicyEvaluated' ? (event.denied_calls ?? []).map(({ reason }) => reason) : [],
    )
    expect(reasons).toContainEqual(expect.stringContaining('inline policy restricted'))
    await client.close()
    await fixture.finish()
  })
})

function delegationIn(entries: readonly Entry[]): EventOf<'DelegationStarted'> {
  const found = entries.map(({ event }) => event).find((event) => event.kind === 'DelegationStarted')
  if (found === undefined) throw new Error('the journal names no delegation')
  return found
}
