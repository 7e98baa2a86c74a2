import { expect, test } from 'vitest'
import type { Event } from '../../../../src/events/index.ts'
import { ToldLife, type ToldRun } from '../../../support/told-life.ts'

const LAW = 'budgets are not minted'

/** A root with a child that asked the model once, all of it durable. The twist is what the root says of it. */
function delegated(life: ToldLife, twist: Parameters<ToldRun['reserve']>[0] = {}): { root: ToldRun; child: ToldRun } {
  const root = life.chat('r1')
  root.openBudget()
  const child = root.delegate('reviewer')
  child.start()
  child.linkBudget()
  root.tell(child.reserve({ budget: 'opened', ...twist }))
  child.propose({ Respond: { content: 'fine' } })
  child.sync()
  return { root, child }
}

function balance(run: ToldRun, total: number): void {
  const usage = { prompt_tokens: 10, completion_tokens: total - 10, total_tokens: total }
  const rest = { reserved_tokens: 0, uncertain_tokens: 0, available_tokens: 985, exceeded: false }
  const budget = { root_id: run.rootId, scope: run.scope, limit: 1000, usage, ...rest }
  run.tell({ kind: 'BudgetUpdated', budget } as unknown as Event)
}

/** Of a model that worked for this request, or for a run that this request delegated to. */
function asked(life: ToldLife, told: number | null, subject = 'r1'): void {
  const inference = life.number()
  life.see({ kind: 'InferenceBegan', life: 1, inference, subject })
  life.see({ kind: 'InferenceEnded', inference, used: 15, told })
}

const LIES: readonly [string, (life: ToldLife) => void, string][] = [
  [
    'more reserved than the limit',
    (life) => void life.chat('r1').reserve({ limit: 29 }),
    'brings a scope to 30 tokens of 29',
  ],
  [
    'more reserved than what is used and uncertain leaves',
    (life) => {
      const run = life.chat('r1')
      run.stage(run.reserve({ limit: 70 }))
      run.stage(run.reserve({ limit: 70, total: 0, outcome: 'unknown' }))
      run.reserve({ limit: 70 })
    },
    'brings a scope to 75 tokens of 70',
  ],
  [
    'a child that reserves more than the root has left',
    (life) => void delegated(life, { input_tokens: 990, output_tokens: 20 }),
    'brings a scope to 1010 tokens of 1000',
  ],
  [
    'a reservation that starts twice',
    (life) => {
      const run = life.chat('r1')
      const id = life.id()
      run.reserve({ reservation: { id } })
      run.reserve({ reservation: { id } })
    },
    'a second time',
  ],
  [
    'a reservation that is settled twice',
    (life) => {
      const run = life.chat('r1')
      const settled = run.reserve()
      run.tell(settled, settled)
    },
    'settles the reservation',
  ],
  [
    'a settlement of what never started',
    (life) => {
      const run = life.chat('r1')
      const settled = run.reserve()
      run.tell({ ...settled, reservation_id: life.id() } as unknown as Event)
    },
    'which never started',
  ],
  [
    'a reservation that does not reach the root',
    (life) => void life.chat('r1').reserve({ reservation: { ancestors: [{ scope: 1, parent: null, limit: 10 }] } }),
    'do not end at the root',
  ],
  [
    'a reservation whose scopes do not follow each other',
    (life) => {
      const ancestors = [
        { scope: 2, parent: 1, limit: 1000 },
        { scope: 0, parent: null, limit: 1000 },
      ]
      life.chat('r1').reserve({ reservation: { ancestors } })
    },
    'do not lead to the root',
  ],
  [
    'a scope that changes its limit',
    (life) => {
      const run = life.chat('r1')
      run.reserve()
      run.reserve({ limit: 2000 })
    },
    'changes the limit of scope 0',
  ],
  [
    'a use that is confirmed and is more than was reserved',
    (life) => {
      const run = life.chat('r1')
      run.tell(run.reserve({ total: 31 }))
    },
    'confirms 31 tokens where 30 were reserved',
  ],
  [
    'a use that is confirmed and is nothing',
    (life) => {
      const run = life.chat('r1')
      run.tell(run.reserve({ total: 0 }))
    },
    'confirms 0 tokens',
  ],
  [
    'a use that is called unknown and is known',
    (life) => {
      const run = life.chat('r1')
      run.tell(run.reserve({ outcome: 'unknown' }))
    },
    'calls a use of 15 tokens unknown',
  ],
  ['a second budget', (life) => life.chat('r1').reserve() && budgetTwice(life), 'opens a second budget'],
  [
    'a reservation in the journal of a run without a budget',
    (life) => {
      const run = life.session()
      run.reserve({ budget: 'opened' })
    },
    'reserves in no budget of its journal',
  ],
  [
    'a balance with less used than the entries say',
    (life) => {
      const run = life.chat('r1')
      run.stage(run.reserve())
      run.end('Completed', {
        usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
        available_tokens: 1000,
      })
    },
    'and the entries add up to {"used":15,"uncertain":0,"reserved":0}',
  ],
  [
    'a balance that forgets what is uncertain',
    (life) => {
      const run = life.chat('r1')
      run.stage(run.reserve({ total: 0, outcome: 'unknown' }))
      run.end('Completed', { available_tokens: 1000 })
    },
    'and the entries add up to {"used":0,"uncertain":30,"reserved":0}',
  ],
  [
    'a balance with more left than there is',
    (life) => {
      const run = life.chat('r1')
      run.stage(run.reserve())
      run.end('Completed', { available_tokens: 1000 })
    },
    'balances {"available_tokens"',
  ],
  [
    'a balance of a budget that was exceeded and says it was not',
    (life) => {
      const run = life.chat('r1')
      run.stage(run.reserve({ total: 45, outcome: 'exceeded' }))
      const usage = { prompt_tokens: 10, completion_tokens: 35, total_tokens: 45 }
      run.end('Completed', { usage, available_tokens: 955 })
    },
    'balances {"available_tokens"',
  ],
  [
    'a child whose reply nobody pays',
    (life) => {
      const { child } = delegated(life)
      child.propose({ Respond: { content: 'more' } })
      child.sync()
    },
    'had a reply for 15 tokens that the root',
  ],
  [
    'a child whose reply is charged as less',
    (life) => void delegated(life, { total: 12 }),
    'had a reply for 15 tokens that the root',
  ],
  [
    'a child that is charged to another scope than its own',
    (life) => {
      const ancestors = [
        { scope: 7, parent: 0, limit: 1000 },
        { scope: 0, parent: null, limit: 1000 },
      ]
      delegated(life, { reservation: { ancestors } })
    },
    'charges another scope than 1',
  ],
  [
    'a child that balances less than the root has settled for it',
    (life) => balance(delegated(life).child, 12),
    'balances 12 tokens, and the root holds 15 and 0 open ones for it',
  ],
  [
    'a child that balances more than the root holds for it',
    (life) => balance(delegated(life).child, 16),
    'balances 16 tokens, and the root holds 15 and 0 open ones for it',
  ],
  [
    'a run that asks the model and has no budget at all',
    (life) => {
      const run = life.session()
      run.propose({ Respond: { content: 'free' } })
      run.sync()
    },
    'asks the model, and its root',
  ],
  [
    'a use that the model told and the journal charges as less',
    (life) => {
      const run = life.chat('r1')
      const settled = run.reserve({ total: 14 })
      asked(life, 15)
      run.tell(settled)
    },
    'used 15 tokens for the run',
  ],
  [
    'a use for a delegated run that the root charges as less',
    (life) => {
      delegated(life)
      asked(life, 10, 'r1/a')
      asked(life, 10, 'r1')
    },
    'used 20 tokens for the run',
  ],
  [
    'a use that the model told and only another run is charged for',
    (life) => {
      life.chat('r1')
      const other = life.chat('r2')
      other.tell(other.reserve())
      asked(life, 15)
    },
    'and the journals charge 0',
  ],
  ['a use that the model told for nobody', (life) => asked(life, 15), 'which no run is known for'],
]

function budgetTwice(life: ToldLife): void {
  const run = life.chat('r2')
  run.openBudget()
  run.openBudget()
}

test.each(LIES)('%s is found', async (_, tell, reason) => {
  const life = new ToldLife()
  tell(life)
  expect((await life.ended())[LAW]).toContain(reason)
})

test('a child pays from the root, an open reservation covers what was told, and so does an uncertain one', async () => {
  const life = new ToldLife()
  const { root, child } = delegated(life)
  balance(child, 15)
  root.stage(root.reserve({ budget: 'opened', total: 0, outcome: 'unknown' }))
  root.reserve({ budget: 'opened' })
  asked(life, 99) // more than was reserved, and the process died before it heard of it
  asked(life, null)
  expect((await life.ended())[LAW]).toBeUndefined()
})

test('a budget that was exceeded charges all that was told, and is closed', async () => {
  const life = new ToldLife()
  const run = life.chat('r1')
  const settled = run.reserve({ total: 45, outcome: 'exceeded' })
  asked(life, 45)
  run.stage(settled)
  const usage = { prompt_tokens: 10, completion_tokens: 35, total_tokens: 45 }
  run.end('MaxTokens', { usage, available_tokens: 0, exceeded: true })
  expect((await life.ended())[LAW]).toBeUndefined()
})
