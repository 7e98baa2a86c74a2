import { expect, test } from 'vitest'
import { digest } from '../../../../src/core/index.ts'
import { madeKey } from '../../../support/journal-maker.ts'
import { callOf, ToldLife, type ToldRun } from '../../../support/told-life.ts'

const LAW = 'evidence verifies'
const OUTPUT = { ImprovementOutput: { output: 'x' } }

/** A chat that began, and in whose journal a line is out of order. */
function twisted(life: ToldLife, put: (run: ToldRun) => void): void {
  const run = life.chat('r1')
  put(run)
  run.sync()
}

const LIES: readonly [string, (life: ToldLife) => void, string][] = [
  [
    'a line of another key',
    (life) => twisted(life, (run) => run.put({ event: OUTPUT }, {}, madeKey(2))),
    'line 1 is not signed',
  ],
  [
    'a line that does not continue the chain',
    (life) => twisted(life, (run) => run.put({ event: OUTPUT }, { previous_hash: '0'.repeat(64) })),
    'line 1 does not continue the chain',
  ],
  [
    'a line of another run',
    (life) => twisted(life, (run) => run.put({ event: OUTPUT }, { run_id: run.agentId })),
    'line 1 belongs to the run',
  ],
  [
    'a line of another principal',
    (life) => twisted(life, (run) => run.put({ event: OUTPUT, agent_id: run.runId })),
    'line 1 belongs to the principal',
  ],
  [
    'a line with another number',
    (life) => twisted(life, (run) => run.put({ event: OUTPUT, sequence: 7 })),
    'calls itself entry 7',
  ],
  [
    'the receipt of another result than the batch holds',
    (life) => {
      const run = life.chat('r1')
      run.infer(callOf('r1/a'))
      const receipt = run.intend('r1/a')
      life.effect('r1/a')
      run.tell(receipt, run.batch('r1/a', 'did something else'))
    },
    'is the receipt of another result than entry',
  ],
  [
    'a delegation with another task than was allowed',
    (life) => {
      const run = life.chat('r1')
      run.infer({ Delegate: { call_id: 'call reviewer', target: 'reviewer', message: 'look' } })
      run.delegate('reviewer')
    },
    'hands over another task than was allowed',
  ],
  ['a second start', (life) => twisted(life, (run) => run.start()), 'line 1 is Started'],
  [
    'a line behind the end',
    (life) =>
      twisted(life, (run) => {
        run.end()
        run.put({ event: OUTPUT })
      }),
    'stand behind its end, entry 1',
  ],
  [
    'a torn line behind the end',
    (life) => {
      const run = life.chat('r1')
      run.end()
      life.disk.put(run.path, Buffer.concat([life.disk.bytes(run.path), Buffer.from('{"pay')]))
    },
    '5 bytes stand behind its end, entry 1',
  ],
  [
    'a whole line of rubbish',
    (life) => {
      const run = life.chat('r1')
      life.disk.put(run.path, Buffer.concat([life.disk.bytes(run.path), Buffer.alloc(20), Buffer.from('\n')]))
    },
    'line 1 is no signed record',
  ],
  [
    'a journal under the name of another',
    (life) => {
      const run = life.chat('r1')
      life.disk.put(`governed/${run.runId}.${run.agentId}.jsonl`, life.disk.bytes(run.path))
    },
    'line 0 belongs to the run',
  ],
  [
    'a journal with a name of none',
    (life) => life.disk.put('governed/notes.jsonl', ''),
    'notes.jsonl is no name of a journal',
  ],
  [
    'an event that the runtime itself does not know',
    (life) => twisted(life, (run) => run.put({ event: { Dreamt: { of: 'sheep' } } })),
    'the runtime refuses its own journal',
  ],
  [
    'a history that the runtime itself refuses',
    (life) =>
      twisted(life, (run) => {
        const receipt = run.intend('r1/a')
        run.stage(receipt, receipt)
      }),
    'the runtime refuses its own journal',
  ],
  [
    'a run of which the runtime says that it needs nobody, or somebody, and the entries do not',
    (life) => {
      const run = life.chat('r1')
      const request = { call_id: 'c', operation: 'o', provider: 'p', model: 'm', request_hash: digest('q') }
      const nobody = { recipient: null, recipient_definition_hash: null, communication: null }
      run.stage({ kind: 'DirectInferenceRequested', ...request, request_bytes: 1, ...nobody })
      run.end()
    },
    'the runtime reports that it needs reconciliation',
  ],
]

test.each(LIES)('%s is found', async (_, tell, reason) => {
  const life = new ToldLife()
  tell(life)
  expect((await life.ended())[LAW]).toContain(reason)
})

test('a bad line is found at the next crash', () => {
  const life = new ToldLife()
  twisted(life, (run) => run.put({ event: OUTPUT, sequence: 7 }))
  expect(life.complaints.get(LAW)).toBeUndefined()
  life.see({ kind: 'Crashed', life: 1, how: 'kill' })
  expect(life.complaints.get(LAW)).toContain('calls itself entry 7')
})

test('a key that is not the one that was shown, or that is not there, is found', async () => {
  const shown = await new ToldLife().ended({ publicKey: madeKey(2).publicHex })
  expect(shown[LAW]).toContain(`and ${madeKey(2).publicHex} was shown`)
  const life = new ToldLife()
  life.session()
  life.disk.remove('governed/audit-signing.key')
  expect((await life.ended())[LAW]).toContain('was written without a key')
  const empty = new ToldLife()
  empty.disk.remove('governed/audit-signing.key')
  expect((await empty.ended({ publicKey: null }))[LAW]).toBeUndefined()
})

test('a torn tail, a journal of nothing but a torn line and an empty one are no fault', async () => {
  const life = new ToldLife()
  const run = life.chat('r1')
  run.infer(callOf('r1/a'))
  run.sync()
  life.disk.put(run.path, Buffer.concat([life.disk.bytes(run.path), Buffer.from('{"payload":{"entry"')]))
  for (const text of ['', '{"payload":']) life.disk.put(`governed/${life.id()}.${life.id()}.jsonl`, text)
  expect(await life.ended()).toEqual({})
})

test('a run that makes another call than the one that its session began it for is found', async () => {
  const madeFor = async (token: string): Promise<string | undefined> => {
    const life = new ToldLife()
    const run = life.session().delegate('call', { id: life.id(), scope: 'mcp:call:v1' })
    run.claim('identified')
    run.start()
    run.allow(callOf(token))
    run.intend(token)
    return (await life.ended())['evidence verifies']
  }
  expect(await madeFor('r1/b')).toMatch(/begins a run for one call, and entry 2 of .* makes another/)
  expect(await madeFor('r1/a')).toBeUndefined()
})
