/** Honest lives: no law has anything to say of them. */
import { expect, test } from 'vitest'
import { ToldLife } from '../../../support/told-life.ts'

test('a whole chat with one call, told and settled, breaks no law', async () => {
  const life = new ToldLife()
  const run = life.wholeChat()
  life.see({
    kind: 'Settled',
    surface: 'chat',
    id: run.id,
    request: 'r1',
    answer: { kind: 'Done', content: 'answer to r1', replayed: true },
  })
  expect(await life.ended()).toEqual({})
})
