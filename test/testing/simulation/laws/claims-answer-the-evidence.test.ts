import { expect, test } from 'vitest'
import { callOf, ToldLife, type ToldRun } from '../../../support/told-life.ts'

const LAW = 'claims answer the evidence'
const NOT_FOUND = { kind: 'Refused', code: 'INVOCATION_NOT_FOUND' } as const
const UNRESOLVED = { kind: 'Unknown', code: 'INVOCATION_UNRESOLVED' } as const

function settled(life: ToldLife, id: string, answer: Parameters<ToldLife['told']>[2]): void {
  life.see({ kind: 'Settled', surface: 'chat', id, request: 'r1', answer })
}

/** A chat whose request was asked, and of which the client heard nothing. */
function unheard(life: ToldLife): ToldRun {
  const session = life.session()
  const run = session.delegate('call', { id: life.id(), scope: 'ws:chat:v1' })
  run.claim('chat')
  run.start()
  return run
}

/** A request of one caller, about which another one is told this. */
function toldToStranger(life: ToldLife, answer: Parameters<ToldLife['told']>[2]): void {
  const { id } = life.wholeChat()
  life.see({ kind: 'Told', client: 'c2', caller: 'somebody else', surface: 'chat', id, answer })
}

const LIES: readonly [string, (life: ToldLife) => void, string][] = [
  [
    'an answer for somebody who did not ask',
    (life) => toldToStranger(life, { kind: 'Done', content: 'answer to r1', replayed: true }),
    'of one caller was answered to another as Done',
  ],
  [
    'an answer for another content under the id of a request that is done',
    (life) => {
      const { id } = life.wholeChat()
      life.see({ kind: 'Asked', client: 'c1', surface: 'chat', id, request: 'r1!', token: 'r1!' })
      life.told('chat', id, { kind: 'Done', content: 'answer to r1', replayed: true })
    },
    'was answered as done 2 times, and no content of it was sent or asked about more than 1 times',
  ],
  [
    'a journal that is shown to somebody who did not ask',
    (life) => {
      const { id, name } = life.wholeChat()
      const answer = { kind: 'Opened', journal: name } as const
      life.see({ kind: 'Told', client: 'c2', caller: 'somebody else', surface: 'chat', id, answer })
    },
    'of one caller was answered to another as Opened',
  ],
  [
    'an opened id that is not found in the end',
    (life) => settled(life, life.chat('r1').id, NOT_FOUND),
    'been told Opened',
  ],
  [
    'an opened id that is not found later',
    (life) => {
      const run = life.chat('r1')
      life.told('chat', run.id, NOT_FOUND)
    },
    'is not found, and a client had been told Opened',
  ],
  [
    'the id of a call that is said to be of another caller or content in the end, to the caller who sent it',
    (life) => {
      const answer = { kind: 'Refused', code: 'INVOCATION_CONFLICT' } as const
      life.see({ kind: 'Settled', surface: 'identified', id: life.id(), request: 'c1', answer })
    },
    'it was sent by the same caller, with the same content',
  ],
  [
    'an unresolved id that is not found in the end',
    (life) => {
      const run = unheard(life)
      life.told('chat', run.id, UNRESOLVED)
      settled(life, run.id, NOT_FOUND)
    },
    'a client had been told INVOCATION_UNRESOLVED',
  ],
  [
    'a done id that is not found in the end',
    (life) => settled(life, life.wholeChat().id, NOT_FOUND),
    'the effect of its token "r1/a" began',
  ],
  [
    'an id that is not found though an effect of it began',
    (life) => {
      const run = unheard(life)
      run.allow(callOf('r1/a'))
      run.intend('r1/a')
      life.effect('r1/a')
      settled(life, run.id, NOT_FOUND)
    },
    'the effect of its token "r1/a" began',
  ],
  [
    'an id that is done in the end, and its run has no end',
    (life) => {
      const run = life.chat('r1')
      run.result('fine')
      settled(life, run.id, { kind: 'Done', content: 'fine', replayed: true })
    },
    'has no end',
  ],
  [
    'an id that is done in the end with an open effect',
    (life) => {
      const run = life.chat('r1')
      run.infer(callOf('r1/a'))
      run.intend('r1/a')
      life.effect('r1/a')
      run.end()
      run.result('fine')
      settled(life, run.id, { kind: 'Done', content: 'fine', replayed: true })
    },
    'does not know what entry 6 did',
  ],
  [
    'an id that is still in progress when all is quiet',
    (life) => settled(life, life.chat('r1').id, { kind: 'Refused', code: 'INVOCATION_IN_PROGRESS' }),
    'everything is quiet',
  ],
  [
    'a call with an id that is still in progress when all is quiet',
    (life) => settled(life, life.chat('r1').id, { kind: 'Unknown', code: 'INVOCATION_IN_PROGRESS' }),
    'everything is quiet',
  ],
  [
    'an id that is unresolved in the end, and nothing of it is open',
    (life) => {
      const run = unheard(life)
      run.end()
      run.result('fine')
      settled(life, run.id, UNRESOLVED)
    },
    'leave nothing open',
  ],
  [
    'an id that was opened before its journal was durable',
    (life) => {
      const id = life.id()
      life.told('chat', id, { kind: 'Opened', journal: 'later.jsonl' })
    },
    'its journal later.jsonl is not durable',
  ],
  [
    'a claim of four lines',
    (life) => {
      const run = life.chat('r1')
      run.result('fine')
      run.result('better')
    },
    'has 4 lines',
  ],
  [
    'a claim whose lines stand in another order',
    (life) => {
      const run = life.chat('r1')
      const lines = life.disk.bytes(run.claimPath).toString().split('\n')
      life.disk.put(run.claimPath, `${lines[1]}\n${lines[0]}\n`)
    },
    'holds no claim in line 1',
  ],
  [
    'a claim under the name of another',
    (life) => {
      const run = life.chat('r1')
      life.disk.put(`invocations/${'0'.repeat(64)}.jsonl`, life.disk.bytes(run.claimPath))
    },
    'its name should be',
  ],
  [
    'a claim that names a journal of another run',
    (life) => {
      const run = life.chat('r1')
      const text = life.disk.bytes(run.claimPath).toString()
      life.disk.put(run.claimPath, text.replace(`${run.runId}.jsonl`, `${life.id()}.jsonl`))
    },
    'names the journal',
  ],
]

test.each(LIES)('%s is found', async (_, tell, reason) => {
  const life = new ToldLife()
  tell(life)
  expect((await life.ended())[LAW]).toContain(reason)
})

test('an id is rightly not found by who asked before anybody was told, however late the answer arrives', async () => {
  const asked = (late: number) => {
    const life = new ToldLife()
    const { id } = life.chat('r1')
    const answer = { kind: 'Told', client: 'slow', surface: 'chat', id, answer: NOT_FOUND } as const
    life.see({ ...answer, askedAt: late })
    return life.complaints.get(LAW) ?? null
  }
  expect(asked(0)).toBeNull()
  expect(asked(1000)).toContain('had been told Opened')
})

test('an id of which nothing began is not found, an interrupted one is unresolved, and a torn claim is no fault', async () => {
  const life = new ToldLife()
  settled(life, life.id(), NOT_FOUND)
  const run = life.chat('r2')
  life.see({ kind: 'Settled', surface: 'chat', id: run.id, request: 'r2', answer: UNRESOLVED })
  life.disk.put(`invocations/${'1'.repeat(64)}.jsonl`, '{"kind":"cl')
  expect(await life.ended()).toEqual({})
})

test('a caller who did not ask may be refused', () => {
  const life = new ToldLife()
  toldToStranger(life, { kind: 'Refused', code: 'INVOCATION_CONFLICT' })
  expect(life.complaints.get(LAW)).toBeUndefined()
})

test('whoever sends the same again, or asks about it, is answered with the same, and breaks no law', async () => {
  const life = new ToldLife()
  const { id } = life.wholeChat()
  const again = { kind: 'Done', content: 'answer to r1', replayed: true } as const
  life.see({ kind: 'Asked', client: 'c1', surface: 'chat', id, request: 'r1', token: 'r1' })
  life.told('chat', id, again)
  life.see({ kind: 'AskedAbout', id })
  life.told('chat', id, again)
  expect((await life.ended())[LAW]).toBeUndefined()
})

test('an id of a call that is told as done for another content too is found; a refusal of that is none', () => {
  const saidOfAnother = (answer: Parameters<ToldLife['told']>[2]): string | undefined => {
    const life = new ToldLife()
    const told = { kind: 'Told', client: 'c1', surface: 'identified', id: life.id() } as const
    life.see({ ...told, token: 'c0', answer: { kind: 'Done', content: 'fine', replayed: false } })
    life.see({ ...told, token: 'c0', answer: { kind: 'Done', content: 'fine', replayed: true } })
    life.see({ ...told, token: 'c0!', answer })
    return life.complaints.get(LAW)
  }
  expect(saidOfAnother({ kind: 'Done', content: 'fine', replayed: true })).toContain(
    'told as done for the call of token "c0", and for that of "c0!"',
  )
  expect(saidOfAnother({ kind: 'Refused', code: 'INVOCATION_CONFLICT' })).toBeUndefined()
})
