import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { NO_USAGE } from '../../src/events/index.ts'
import { attached, never, request, settled, usage } from '../support/budget.ts'

const closed = expect.objectContaining({ code: 'BUDGET_CLOSED' })
const stop = new Error('stopped by the test')

test('begin() makes the start durable in one write with everything that was staged, before the model may be asked', async () => {
  const { root, log, recorder } = attached(1000)
  recorder.stage({ kind: 'ImprovementOutput', output: 'a receipt that may wait' })
  const open = log.hold()
  const reservation = root.reserve(request())
  let asked = false
  const begun = reservation.begin(never).then(() => {
    asked = true
  })
  await settled()
  expect(asked).toBe(false)
  open()
  await begun
  expect(log.kinds()).toEqual(['BudgetOpened', 'ImprovementOutput', 'BudgetReservationStarted'])
  expect(log.appends).toEqual([3])
  expect(log.all('BudgetReservationStarted')[0]?.reservation).toEqual(reservation.record)
})

test('settle() stages the settlement and needs no sync of its own', async () => {
  const { root, log, recorder } = attached(1000)
  const reservation = root.reserve(request())
  await reservation.begin(never)
  expect(reservation.settle(usage(9, 11))).toBe('confirmed')
  expect(log.all('BudgetReservationFinished')).toEqual([])
  await recorder.commit()
  expect(log.all('BudgetReservationFinished')).toEqual([
    {
      kind: 'BudgetReservationFinished',
      root_id: root.rootId,
      reservation_id: reservation.record.id,
      usage: usage(9, 11),
      outcome: 'confirmed',
    },
  ])
})

test('a reservation of a child is recorded in the journal of the root', async () => {
  const { root, log } = attached(1000)
  const reservation = root.child(500).reserve(request())
  await reservation.begin(never)
  expect(log.all('BudgetReservationStarted')[0]?.reservation.ancestors).toHaveLength(2)
})

test('a usage that was not reported leaves the whole amount uncertain [trap:provider-usage-unknown]', async () => {
  const { root, log, recorder } = attached(1000)
  const reservation = root.reserve(request())
  await reservation.begin(never)
  expect(reservation.settle(NO_USAGE)).toBe('unknown')
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 50, available_tokens: 950 })
  expect(root.usage).toEqual(NO_USAGE)
  await recorder.commit()
  expect(log.all('BudgetReservationFinished')[0]?.outcome).toBe('unknown')
})

test('a usage beyond the reservation is counted, recorded, and closes every ancestor; the response is refused', async () => {
  const { root, log, recorder } = attached(1000)
  const child = root.child(500)
  const reservation = child.reserve(request())
  await reservation.begin(never)
  expect(() => reservation.settle(usage(20, 60, 10))).toThrow(closed)
  expect(root.usage).toEqual(usage(20, 60))
  for (const scope of [root, child]) {
    expect(scope.snapshot()).toMatchObject({ exceeded: true, available_tokens: 0, reserved_tokens: 0 })
  }
  await recorder.commit()
  expect(log.all('BudgetReservationFinished')[0]).toMatchObject({ outcome: 'exceeded', usage: usage(20, 60, 10) })
})

test('a closed ancestor refuses the response of a sibling too, and its use is still recorded', async () => {
  const { root, log, recorder } = attached(1000)
  const [left, right] = [root.child(500).reserve(request()), root.child(500).reserve(request())]
  await left.begin(never)
  await right.begin(never)
  expect(() => left.settle(usage(1000, 1))).toThrow(closed)
  expect(() => right.settle(usage(5, 5))).toThrow(closed)
  await recorder.commit()
  expect(log.all('BudgetReservationFinished').map(({ outcome }) => outcome)).toEqual(['exceeded', 'confirmed'])
  expect(root.usage.total_tokens).toBe(1011)
})

test('a closed ancestor lets no held reservation begin, and writes nothing for it', async () => {
  const { root, log } = attached(1000)
  const [left, right] = [root.reserve(request()), root.child(500).reserve(request())]
  await left.begin(never)
  expect(() => left.settle(usage(1000, 1))).toThrow(closed)
  await expect(right.begin(never)).rejects.toEqual(closed)
  expect(log.all('BudgetReservationStarted')).toHaveLength(1)
  expect(root.snapshot().reserved_tokens).toBe(0)
})

test('an allowance that closes while a start is written lets nobody ask, and the start is settled', async () => {
  const { root, log, recorder } = attached(1000)
  const [left, right] = [root.reserve(request()), root.reserve(request())]
  await left.begin(never)
  const open = log.hold()
  const begun = right.begin(never)
  expect(() => left.settle(usage(1000, 1))).toThrow(closed)
  open()
  await expect(begun).rejects.toEqual(closed)
  await recorder.commit()
  expect(log.all('BudgetReservationFinished').map(({ outcome }) => outcome)).toEqual(['exceeded', 'unknown'])
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 50 })
})

test('when the start cannot be written, all ancestors are closed and nobody may ask', async () => {
  const { root, log } = attached(1000)
  const child = root.child(500)
  log.failAt(1)
  const reservation = child.reserve(request())
  await expect(reservation.begin(never)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
  for (const scope of [root, child]) expect(scope.snapshot()).toMatchObject({ exceeded: true, available_tokens: 0 })
  reservation.release()
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 50 }) // a failed sync may leave it on disk
})

test('when the start is refused by rule, nothing is charged and the allowance is closed', async () => {
  const { root, log } = attached(1000)
  log.refuseAt(1)
  const reservation = root.reserve(request())
  await expect(reservation.begin(never)).rejects.toMatchObject({ code: 'RECONCILIATION_REQUIRED' })
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 0, exceeded: true })
})

test('an abort before begin() writes nothing, and the amount is refunded', async () => {
  const { root, log } = attached(1000)
  const reservation = root.reserve(request())
  await expect(reservation.begin(AbortSignal.abort(stop))).rejects.toBe(stop)
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 0, available_tokens: 1000 })
  expect(log.entries).toEqual([])
})

test('an abort during the required write throws at once and leaves the charge uncertain [B2]', async () => {
  const { root, log, recorder } = attached(1000)
  const child = root.child(500)
  const abort = new AbortController()
  const open = log.hold()
  const reservation = child.reserve(request())
  const begun = reservation.begin(abort.signal)
  abort.abort(stop)
  await expect(begun).rejects.toBe(stop) // while the write is still held open
  for (const scope of [root, child]) {
    expect(scope.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 50, exceeded: false })
  }
  open()
  reservation.release()
  await recorder.commit({ kind: 'ImprovementOutput', output: '' })
  expect(log.kinds()).toEqual(['BudgetOpened', 'BudgetReservationStarted', 'ImprovementOutput'])
  expect(root.snapshot()).toMatchObject({ uncertain_tokens: 50, available_tokens: 950 })
  expect(() => reservation.settle(usage(1, 1))).toThrow(stop)
})

test('an abort during a write that then fails closes the allowance, and the charge stays uncertain [B2]', async () => {
  const { root, log } = attached(1000)
  const abort = new AbortController()
  const open = log.hold()
  log.failAt(1)
  const begun = root.reserve(request()).begin(abort.signal)
  abort.abort(stop)
  await expect(begun).rejects.toBe(stop)
  open()
  await settled()
  expect(root.snapshot()).toMatchObject({ uncertain_tokens: 50, reserved_tokens: 0, exceeded: true })
})

test('an abort during a write that is then refused by rule refunds nothing [B2]', async () => {
  const { root, log } = attached(1000)
  const abort = new AbortController()
  const open = log.hold()
  log.refuseAt(1)
  const begun = root.reserve(request()).begin(abort.signal)
  abort.abort(stop)
  await expect(begun).rejects.toBe(stop)
  open()
  await settled()
  expect(root.snapshot()).toMatchObject({ uncertain_tokens: 50, reserved_tokens: 0, exceeded: true })
})

test('after a cancellation no settlement is written, and the start stays open', async () => {
  const { root, log, recorder } = attached(1000)
  const abort = new AbortController()
  const reservation = root.reserve(request())
  await reservation.begin(abort.signal)
  abort.abort(stop)
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 50 })
  expect(() => reservation.settle(usage(5, 5))).toThrow(stop)
  expect(() => reservation.settle(NO_USAGE)).toThrow(stop)
  reservation.release()
  await recorder.commit()
  expect(log.all('BudgetReservationFinished')).toEqual([])
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 50, usage: NO_USAGE })
})

test('an abort after the settlement changes nothing', async () => {
  const { root } = attached(1000)
  const abort = new AbortController()
  const reservation = root.reserve(request())
  await reservation.begin(abort.signal)
  reservation.settle(usage(5, 5))
  abort.abort(stop)
  reservation.release()
  expect(root.snapshot()).toMatchObject({ uncertain_tokens: 0, available_tokens: 990 })
})

test.each([
  ['confirmed', usage(5, 5)],
  ['unknown', NO_USAGE],
] as const)(
  'a %s settlement whose write fails closes the allowance and charges the full amount [B3]',
  async (_, used) => {
    const { root, log, recorder } = attached(1000)
    const child = root.child(500)
    const reservation = child.reserve(request())
    await reservation.begin(never)
    reservation.settle(used)
    log.failAt(2)
    await expect(recorder.commit()).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    for (const scope of [root, child]) {
      expect(scope.snapshot()).toMatchObject({
        usage: NO_USAGE,
        reserved_tokens: 0,
        uncertain_tokens: 50,
        available_tokens: 0,
        exceeded: true,
      })
    }
    expect(() => child.reserve(request())).toThrow(closed)
  },
)

test('a settlement in a journal that is lost already refuses the response at once [B3]', async () => {
  const { root, log, recorder } = attached(1000)
  const reservation = root.reserve(request())
  await reservation.begin(never)
  log.failAt(2)
  await expect(recorder.commit({ kind: 'ImprovementOutput', output: '' })).rejects.toThrow()
  expect(() => reservation.settle(usage(5, 5))).toThrow(closed)
  expect(root.snapshot()).toMatchObject({ usage: NO_USAGE, uncertain_tokens: 50, exceeded: true })
})

test('a settlement behind the terminal record is refused, and the full amount stays charged [B3]', async () => {
  const { root, log, recorder } = attached(1000)
  const reservation = root.child(500).reserve(request())
  await reservation.begin(never)
  recorder.handOver()
  expect(() => reservation.settle(usage(5, 5))).toThrow(closed)
  expect(root.snapshot()).toMatchObject({ usage: NO_USAGE, uncertain_tokens: 50, exceeded: true })
  expect(log.all('BudgetReservationFinished')).toEqual([])
})

test('a settlement that waits through a refusal by rule is written later and stays confirmed', async () => {
  const { root, log, recorder } = attached(1000)
  const reservation = root.reserve(request())
  await reservation.begin(never)
  reservation.settle(usage(5, 5))
  log.refuseAt(3)
  await expect(recorder.commit({ kind: 'ImprovementOutput', output: 'refused' })).rejects.toThrow()
  expect(root.snapshot()).toMatchObject({ usage: usage(5, 5), exceeded: false })
  await recorder.commit()
  expect(log.all('BudgetReservationFinished')).toHaveLength(1)
})

test('release() refunds what was never asked for, once', () => {
  const { root, log } = attached(1000)
  const reservation = root.reserve(request())
  reservation.release()
  reservation.release()
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 0, available_tokens: 1000 })
  expect(log.entries).toEqual([])
})

test('release() after the model could be asked leaves the charge uncertain and writes nothing', async () => {
  const { root, log, recorder } = attached(1000)
  const reservation = root.reserve(request())
  await reservation.begin(never)
  reservation.release()
  reservation.release()
  await recorder.commit()
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 50, available_tokens: 950 })
  expect(log.kinds()).toEqual(['BudgetOpened', 'BudgetReservationStarted'])
  expect(() => reservation.settle(usage(1, 1))).toThrow(closed)
})

test('release() during the write lets nobody ask', async () => {
  const { root, log } = attached(1000)
  const open = log.hold()
  const reservation = root.reserve(request())
  const begun = reservation.begin(never)
  reservation.release()
  open()
  await expect(begun).rejects.toEqual(closed)
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 50 })
})

test('a reservation that was released cannot begin', async () => {
  const { root, log } = attached(1000)
  const reservation = root.reserve(request())
  reservation.release()
  await expect(reservation.begin(never)).rejects.toEqual(closed)
  expect(log.entries).toEqual([])
})

test('beginning twice, and settling what never began or is settled, are bugs', async () => {
  const { root } = attached(1000)
  const reservation = root.reserve(request())
  expect(() => reservation.settle(usage(1, 1))).toThrow('settled once')
  await reservation.begin(never)
  await expect(reservation.begin(never)).rejects.toThrow('begins once')
  reservation.settle(usage(1, 1))
  expect(() => reservation.settle(usage(1, 1))).toThrow('settled once')
})

test('at a time limit the open reservations of that scope, and of no other, are settled as unknown', async () => {
  const { root, log, recorder } = attached(1000)
  const child = root.child(500)
  const [mine, dropped, finished, held] = [1, 2, 3, 4].map(() => child.reserve(request()))
  const other = root.reserve(request())
  for (const reservation of [mine, dropped, finished, other]) await reservation?.begin(never)
  dropped?.release()
  finished?.settle(usage(5, 5))
  await child.abandonOutstanding()
  await child.abandonOutstanding()
  await recorder.commit()
  expect(log.all('BudgetReservationFinished').map(({ reservation_id, outcome }) => [reservation_id, outcome])).toEqual([
    [finished?.record.id, 'confirmed'],
    [mine?.record.id, 'unknown'],
    [dropped?.record.id, 'unknown'],
  ])
  expect(child.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 100, usage: usage(5, 5) })
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 50, uncertain_tokens: 100 })
  await expect(held?.begin(never)).rejects.toEqual(closed)
  expect(() => mine?.settle(usage(5, 5))).toThrow(closed)
})

test('at a time limit a start that is durable is settled before abandonOutstanding() returns to its caller', async () => {
  const { root, log, recorder } = attached(1000)
  await root.reserve(request()).begin(never)
  const abandoned = root.abandonOutstanding()
  await recorder.commit({ kind: 'ImprovementOutput', output: 'the end' })
  await abandoned
  expect(log.kinds().slice(2)).toEqual(['BudgetReservationFinished', 'ImprovementOutput'])
})

test('at a time limit a start that is still being written is settled once it is durable, exactly once', async () => {
  const { root, log, recorder } = attached(1000)
  const abort = new AbortController()
  const open = log.hold()
  const begun = root.reserve(request()).begin(abort.signal)
  abort.abort(stop)
  await expect(begun).rejects.toBe(stop)
  const abandoned = root.abandonOutstanding()
  await settled()
  open()
  await abandoned
  await recorder.commit()
  expect(log.kinds()).toEqual(['BudgetOpened', 'BudgetReservationStarted', 'BudgetReservationFinished'])
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 50 })
})

test('at a time limit a start that was refused gets no settlement', async () => {
  const { root, log, recorder } = attached(1000)
  const open = log.hold()
  log.refuseAt(1)
  const begun = root.reserve(request()).begin(never)
  const abandoned = root.abandonOutstanding()
  open()
  await expect(begun).rejects.toMatchObject({ code: 'RECONCILIATION_REQUIRED' })
  await abandoned
  await recorder.commit()
  expect(log.kinds()).toEqual(['BudgetOpened'])
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 50 })
})

test('a reservation that is over is no longer outstanding, and leaves nothing on the signal of its run', async () => {
  const { root } = attached(1000)
  const { signal } = new AbortController()
  const [used, refunded, open] = [1, 2, 3].map(() => root.reserve(request()))
  expect(root.outstanding).toBe(3)
  await used?.begin(signal)
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  used?.settle(usage(1, 1))
  refunded?.release()
  await open?.begin(never)
  open?.release()
  expect(root.outstanding).toBe(1)
  expect(getEventListeners(signal, 'abort')).toEqual([])
  await root.abandonOutstanding()
  expect(root.outstanding).toBe(0)
})
