import { describe, expect, test } from 'vitest'
import { digest, Fault, newId } from '../../src/core/index.ts'
import { effectJournal } from '../../src/dispatch/effect-journal.ts'
import { Recorder, type ToolEffect } from '../../src/events/index.ts'
import { testWorld } from '../../src/testing/index.ts'
import { MemoryLog } from '../support/memory-log.ts'

const refused = (reason: string) =>
  expect.objectContaining({ code: 'GRANT_REFUSED', message: `Cannot record the effect: ${reason}` })

const started = (request_id: string, url = 'http://127.0.0.1/'): ToolEffect => ({
  NetworkRequestStarted: { request_id, method: 'GET', url, request_hash: 'sha256:0', request_bytes: 0 },
})
const finished = (request_id: string, parts: { status?: number | null; error?: string | null } = {}): ToolEffect => ({
  NetworkRequestFinished: {
    request_id,
    status: 200,
    response_hash: 'sha256:0',
    response_headers_hash: null,
    response_bytes: 0,
    error: null,
    ...parts,
  },
})
const world = testWorld()
const [one, other] = [newId('publication', world.random), newId('publication', world.random)]
const prepared = (publication_id = one): ToolEffect => ({ FilePublicationPrepared: { intent: { publication_id } } })
const published = (publication_id = one, confirmed = true): ToolEffect => ({
  FilePublicationFinished: { publication_id, confirmed, error: null },
})

const DEADLINE_MS = 1000

function journalOf() {
  const own = testWorld()
  const log = new MemoryLog()
  const recorder = new Recorder(log, newId('agent', own.random), () => own.clock.wall())
  const failures: unknown[] = []
  const journal = effectJournal({
    recorder,
    clock: own.clock,
    runKey: 'run',
    fingerprint: digest('call'),
    deadlineMs: own.clock.monotonicMs() + DEADLINE_MS,
    onJournalFailure: (error) => void failures.push(error),
  })
  const tell = async (...effects: readonly ToolEffect[]): Promise<void> => {
    for (const effect of effects) await journal.record(effect)
  }
  return { world: own, log, journal, failures, tell }
}

describe('the effects of a call are confirmed', () => {
  test.each<[string, readonly ToolEffect[]]>([
    ['when there were none', []],
    ['when a request has its complete answer', [started('r'), finished('r')]],
    ['when a publication is confirmed', [prepared(), published()]],
    [
      'when several of them end in another order',
      [started('r'), prepared(), started('s'), published(), finished('s'), finished('r')],
    ],
    ['when a request and a publication have one id', [started(one), prepared(), finished(one), published()]],
  ])('%s', async (_, effects) => {
    const { journal, log, tell } = journalOf()
    await tell(...effects)
    expect(journal.end()).toBe(true)
    expect(log.all('ToolEffect').map(({ effect }) => effect)).toEqual(effects)
  })
})

describe('the effects of a call are unconfirmed', () => {
  test.each<[string, readonly ToolEffect[]]>([
    ['while a request has no answer', [started('r')]],
    ['while one of two requests has no answer', [started('r'), started('s'), finished('r')]],
    ['while a publication has no receipt', [prepared()]],
    ['while one of two publications has no receipt', [prepared(one), prepared(other), published(one)]],
    ['when a request failed', [started('r'), finished('r', { error: 'reset' })]],
    ['when a request has no status', [started('r'), finished('r', { status: null })]],
    ['when a publication is not confirmed', [prepared(), published(one, false)]],
    [
      'when a request failed and another did not',
      [started('r'), started('s'), finished('r', { error: 'reset' }), finished('s')],
    ],
  ])('%s', async (_, effects) => {
    const { journal, tell } = journalOf()
    await tell(...effects)
    expect(journal.end()).toBe(false)
  })

  test('while a record is still being written, and that is not waited for', async () => {
    const { journal, log, tell } = journalOf()
    await tell(started('r'))
    const release = log.hold()
    const receipt = journal.record(finished('r'))
    expect(journal.end()).toBe(false)
    release()
    await receipt
    expect(journal.end()).toBe(true)
  })

  test('once their journal failed, although the receipt came after it', async () => {
    const { journal, log, failures } = journalOf()
    log.refuseAt(0)
    await expect(journal.record(started('r'))).rejects.toMatchObject({ code: 'RECONCILIATION_REQUIRED' })
    await journal.record(finished('r'))
    expect(journal.end()).toBe(false)
    expect(failures).toEqual([expect.objectContaining({ code: 'RECONCILIATION_REQUIRED' })])
  })
})

describe('a record is refused, and leaves the call unconfirmed,', () => {
  const REQUEST = 'its start was never recorded'
  test.each<[string, readonly ToolEffect[], ToolEffect, string]>([
    ['when nobody recorded its start', [], finished('r'), REQUEST],
    ['when another request was started', [started('s')], finished('r'), REQUEST],
    ['when the request is a publication of that id', [prepared(one)], finished(one), REQUEST],
    ['when the publication is a request of that id', [started(one)], published(one), REQUEST],
    ['when it ends a second time', [started('r'), finished('r')], finished('r'), REQUEST],
    ['when its id is in use', [started('r')], started('r'), 'its id was used before'],
    ['when its id was used and is over', [started('r'), finished('r')], started('r'), 'its id was used before'],
    ['when its publication is in use', [prepared()], prepared(), 'its id was used before'],
    [
      'when an effect before it failed',
      [started('r'), finished('r', { error: 'reset' })],
      started('s'),
      'an earlier effect of the call failed',
    ],
  ])('%s', async (_, before, effect, reason) => {
    const { journal, log, tell } = journalOf()
    await tell(...before)
    await expect(journal.record(effect)).rejects.toEqual(refused(reason))
    expect(log.entries).toHaveLength(before.length)
    expect(journal.end()).toBe(false)
  })

  test('when it starts after another one was refused, and one that ended is still taken', async () => {
    const { journal, tell } = journalOf()
    await tell(started('r'))
    await expect(journal.record(finished('s'))).rejects.toBeInstanceOf(Fault)
    await expect(journal.record(started('t'))).rejects.toEqual(refused('an earlier effect of the call failed'))
    await journal.record(finished('r'))
    expect(journal.end()).toBe(false)
  })

  test('when it starts after one that was no record', async () => {
    const { journal } = journalOf()
    await expect(journal.record({} as ToolEffect)).rejects.toEqual(refused('it is not a record of an effect'))
    await expect(journal.record(started('r'))).rejects.toEqual(refused('an earlier effect of the call failed'))
    expect(journal.end()).toBe(false)
  })

  test('when it starts at the deadline; what ends then is recorded', async () => {
    const { world: own, journal, tell } = journalOf()
    await own.advance(DEADLINE_MS - 1)
    await tell(started('r'))
    await own.advance(1)
    await expect(journal.record(started('s'))).rejects.toEqual(refused('the call has no time left'))
    await tell(finished('r'))
    expect(journal.end()).toBe(false)
  })

  test.each([
    ['a start', started('s')],
    ['an end', finished('r')],
  ])('when the call has ended, be it %s', async (_, effect) => {
    const { journal, tell } = journalOf()
    await tell(started('r'))
    journal.end()
    await expect(journal.record(effect)).rejects.toEqual(refused('the call has ended'))
  })
})

describe('a call may record', () => {
  test('2048 effects and no more', async () => {
    const { journal, tell } = journalOf()
    for (let count = 0; count < 1024; count += 1) await tell(started(`r${count}`), finished(`r${count}`))
    await expect(journal.record(started('one more'))).rejects.toEqual(refused('a call may record 2048 effects'))
    expect(journal.end()).toBe(false)
  })

  test('32 of them at a time, and goes on when they are written', async () => {
    const { journal, log } = journalOf()
    const release = log.hold()
    const waiting = Array.from({ length: 32 }, (_, count) => journal.record(started(`r${count}`)))
    await expect(journal.record(finished('r0'))).rejects.toEqual(refused('32 records are waiting to be written'))
    release()
    await Promise.all(waiting)
    await journal.record(finished('r0'))
    expect(log.entries).toHaveLength(33)
  })

  test('one of 32 KiB, and none that is a byte longer', async () => {
    const bytesOf = (effect: ToolEffect) => Buffer.byteLength(JSON.stringify(effect))
    const room = 32 * 1024 - bytesOf(started('r', ''))
    const { journal } = journalOf()
    await journal.record(started('r', 'x'.repeat(room)))
    await expect(journal.record(started('s', 'x'.repeat(room + 1)))).rejects.toEqual(
      refused('a record holds at most 32768 bytes'),
    )
  })
})

test('what is recorded names the run and the call that it belongs to', async () => {
  const { log, tell } = journalOf()
  await tell(started('r'))
  expect(log.events).toEqual([
    { kind: 'ToolEffect', run_key: 'run', call_fingerprint: digest('call'), effect: started('r') },
  ])
})
