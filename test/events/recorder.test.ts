import { describe, expect, test } from 'vitest'
import { Fault, type Timestamp, timestampOf } from '../../src/core/index.ts'
import { type EventLog, type NewEntry, Recorder } from '../../src/events/index.ts'
import { AUDIT, idOf, SAMPLES } from './samples.ts'

const { ToolsDispatched, ToolDispatchStarted, ToolDispatchFinished, ObservationsCollected, Terminated } = SAMPLES

/** A log that writes when the test says so, and answers each append as the test says. */
class ScriptedLog implements EventLog {
  readonly audit = AUDIT
  readonly appends: (readonly NewEntry[])[] = []
  readonly #answers: ((entries: readonly NewEntry[]) => Promise<void>)[] = []

  answer(...answers: readonly (Error | Promise<void>)[]): this {
    for (const answer of answers) {
      this.#answers.push(() => (answer instanceof Error ? Promise.reject(answer) : answer))
    }
    return this
  }

  append(entries: readonly NewEntry[]): Promise<void> {
    this.appends.push(entries)
    return this.#answers.shift()?.(entries) ?? Promise.resolve()
  }

  get kinds(): readonly (readonly string[])[] {
    return this.appends.map((entries) => entries.map(({ event }) => event.kind))
  }
}

function recorderOn(log: EventLog): Recorder {
  let micros = 0
  return new Recorder(log, idOf('agent', 1), (): Timestamp => timestampOf(++micros))
}

const refusal = (code: 'RECONCILIATION_REQUIRED' | 'JOURNAL_REFUSED') => new Fault(code, { message: 'Cannot append' })
const failure = () => new Fault('STORAGE_FULL', { message: 'Cannot store' })

describe('commit()', () => {
  test('writes what was staged before its own events, in order, in one append', async () => {
    const log = new ScriptedLog()
    const recorder = recorderOn(log)
    recorder.stage(ToolDispatchFinished)
    recorder.stage(ToolsDispatched)
    expect(log.appends).toEqual([])
    await recorder.commit(ObservationsCollected, ToolDispatchStarted)
    expect(log.kinds).toEqual([
      ['ToolDispatchFinished', 'ToolsDispatched', 'ObservationsCollected', 'ToolDispatchStarted'],
    ])
    await recorder.commit(Terminated)
    expect(log.kinds[1]).toEqual(['Terminated'])
  })

  test('stamps each entry with its principal, the time of staging and the iteration of that moment', async () => {
    const log = new ScriptedLog()
    const recorder = recorderOn(log)
    recorder.stage(ToolsDispatched)
    recorder.iteration = 2
    await recorder.commit(ToolDispatchStarted)
    expect(log.appends[0]).toEqual([
      { timestamp: timestampOf(1), agent_id: idOf('agent', 1), iteration: 0, event: ToolsDispatched },
      { timestamp: timestampOf(2), agent_id: idOf('agent', 1), iteration: 2, event: ToolDispatchStarted },
    ])
    expect(recorder.audit).toBe(AUDIT)
  })

  test('asks the log for nothing when there is nothing to write', async () => {
    const log = new ScriptedLog()
    await recorderOn(log).commit()
    expect(log.appends).toEqual([])
  })

  test('resolves, and tells those who staged, only when the log has answered', async () => {
    let synced: () => void = () => undefined
    const log = new ScriptedLog().answer(
      new Promise((resolve) => {
        synced = resolve
      }),
    )
    const recorder = recorderOn(log)
    const told: string[] = []
    recorder.stage(ToolDispatchFinished, (outcome) => told.push(outcome))
    const committed = recorder.commit(ToolDispatchStarted).then(() => told.push('committed'))
    await Promise.resolve()
    expect(told).toEqual([])
    synced()
    await committed
    expect(told).toEqual(['durable', 'committed'])
  })

  test('leaves to the next commit what is staged while it writes', async () => {
    const log = new ScriptedLog()
    const recorder = recorderOn(log)
    const first = recorder.commit(ToolDispatchStarted)
    recorder.stage(ToolDispatchFinished)
    await first
    await recorder.commit(Terminated)
    expect(log.kinds).toEqual([['ToolDispatchStarted'], ['ToolDispatchFinished', 'Terminated']])
  })
})

describe('a refusal by rule', () => {
  test.each(['RECONCILIATION_REQUIRED', 'JOURNAL_REFUSED'] as const)(
    '%s drops the intent, keeps what was staged, and lets receipts and the end be written',
    async (code) => {
      const log = new ScriptedLog().answer(refusal(code))
      const recorder = recorderOn(log)
      const told: string[] = []
      recorder.stage(ToolDispatchFinished, (outcome) => told.push(outcome))
      const refused = recorder.commit(ToolDispatchStarted)
      recorder.stage(ToolsDispatched)
      await expect(refused).rejects.toMatchObject({ code })
      expect([recorder.lost, told]).toEqual([false, []])
      await recorder.commit(Terminated)
      expect(log.kinds[1]).toEqual(['ToolDispatchFinished', 'ToolsDispatched', 'Terminated'])
      expect(told).toEqual(['durable'])
    },
  )

  test('of a run that was handed over meanwhile leaves nothing that waits', async () => {
    const log = new ScriptedLog().answer(refusal('JOURNAL_REFUSED'))
    const recorder = recorderOn(log)
    const told: string[] = []
    recorder.stage(ToolDispatchFinished, (outcome) => told.push(outcome))
    const refused = recorder.commit(ToolDispatchStarted)
    recorder.handOver()
    await expect(refused).rejects.toMatchObject({ code: 'JOURNAL_REFUSED' })
    expect(told).toEqual(['lost'])
  })
})

describe('a write that failed', () => {
  test('is permanent: everything that waits is lost, and so is everything later', async () => {
    const log = new ScriptedLog().answer(failure())
    const recorder = recorderOn(log)
    const told: string[] = []
    recorder.stage(ToolDispatchFinished, (outcome) => told.push(`before ${outcome}`))
    const failed = recorder.commit(ToolDispatchStarted)
    recorder.stage(ToolsDispatched, (outcome) => told.push(`meanwhile ${outcome}`))
    await expect(failed).rejects.toMatchObject({ code: 'STORAGE_FULL' })
    recorder.stage(ObservationsCollected, (outcome) => told.push(`later ${outcome}`))
    expect(told).toEqual(['before lost', 'meanwhile lost', 'later lost'])
    expect(recorder.lost).toBe(true)
    await expect(recorder.commit(Terminated)).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    await expect(recorder.commit()).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    expect(log.appends).toHaveLength(1)
  })

  test('of an unknown kind is permanent, too', async () => {
    const log = new ScriptedLog().answer(new TypeError('a bug of the log'))
    const recorder = recorderOn(log)
    await expect(recorder.commit(Terminated)).rejects.toThrow(TypeError)
    expect(recorder.lost).toBe(true)
  })
})

describe('a recorder that handed over', () => {
  test('writes nothing behind the terminal record, and tells late workers so', async () => {
    const log = new ScriptedLog()
    const recorder = recorderOn(log)
    await recorder.handOver().commit(Terminated)
    const told: string[] = []
    recorder.stage(ToolDispatchFinished, (outcome) => told.push(outcome))
    await expect(recorder.commit(ToolDispatchFinished)).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    expect([log.kinds, told, recorder.lost]).toEqual([[['Terminated']], ['lost'], false])
  })

  test('gives its successor the entries that still waited, in order, and its iteration', async () => {
    const log = new ScriptedLog()
    const recorder = recorderOn(log)
    const told: string[] = []
    recorder.iteration = 3
    recorder.stage(ToolDispatchFinished, (outcome) => told.push(outcome))
    const next = recorder.handOver()
    expect([told, next.iteration]).toEqual([[], 3])
    await next.commit(Terminated)
    expect([log.kinds, told]).toEqual([[['ToolDispatchFinished', 'Terminated']], ['durable']])
  })

  test('lets a write that has begun come to its end', async () => {
    const log = new ScriptedLog()
    const recorder = recorderOn(log)
    const told: string[] = []
    recorder.stage(ToolDispatchFinished, (outcome) => told.push(outcome))
    const begun = recorder.commit()
    recorder.handOver()
    await begun
    expect([log.kinds, told]).toEqual([[['ToolDispatchFinished']], ['durable']])
  })

  test('tells its successor when the journal was lost before', async () => {
    const log = new ScriptedLog().answer(failure())
    const recorder = recorderOn(log)
    await expect(recorder.commit(Terminated)).rejects.toThrow()
    expect(recorder.handOver().lost).toBe(true)
  })
})
