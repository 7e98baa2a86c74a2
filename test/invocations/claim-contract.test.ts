/** Both makers keep the contract, and in random histories the files answer as the model does. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isFault, type Json } from '../../src/core/index.ts'
import { type ClaimOwner, fileClaims } from '../../src/invocations/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { claimContract } from '../contract/claims.ts'
import { type ClaimDoors, modelClaims } from '../support/claim-model.ts'
import { never, RUNS, type RunKind, requestOf, write } from '../support/invocation-runs.ts'
import { temporaryProject } from '../support/temporary-project.ts'

describe('the contract of claims', () => {
  claimContract('the model', async () => ({
    claims: modelClaims(),
    [Symbol.asyncDispose]: async () => undefined,
  }))
  claimContract('files', async () => {
    const project = temporaryProject()
    return {
      claims: fileClaims(nodeWorld(), project.root),
      [Symbol.asyncDispose]: async () => project[Symbol.dispose](),
    }
  })
})

const IDS = ['0d0a3f0e-3a3f-4b1a-9d1e-2f1c5a7b9e11', '0d0a3f0e-3a3f-4b1a-9d1e-2f1c5a7b9e12']
const SCOPES = ['ws:chat:v1', 'cli:orga']
const CONTENTS: readonly Json[] = [{ a: 1, b: 2 }, { b: 2, a: 1 }, { a: 2 }] // the first two are one content

type Step =
  | { readonly kind: 'open' | 'lookup'; readonly id: number; readonly scope: number; readonly content: number }
  | { readonly kind: 'finish'; readonly owner: number; readonly run: RunKind; readonly result: Json }
  | { readonly kind: 'release'; readonly owner: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('open' as const, 'open' as const, 'lookup' as const),
    id: fc.nat(1),
    scope: fc.nat(1),
    content: fc.nat(2),
  }),
  fc.record({
    kind: fc.constant('finish' as const),
    owner: fc.nat(3),
    run: fc.constantFrom(...(Object.keys(RUNS) as RunKind[])),
    result: fc.jsonValue({ noUnicodeString: false }).filter(isStrict) as fc.Arbitrary<Json>,
  }),
  fc.record({ kind: fc.constant('release' as const), owner: fc.nat(3) }),
)

/** What JSON can say and a strict reader gives back unchanged. */
function isStrict(value: unknown): boolean {
  const text = JSON.stringify(value)
  const numbers = text.match(/-?\d+(\.\d+)?(e[+-]?\d+)?/gi) ?? []
  return (
    text.isWellFormed() &&
    !/\\ud[89a-f]/i.test(text) &&
    !text.includes('__proto__') &&
    numbers.every((number) => !Number.isInteger(Number(number)) || Number.isSafeInteger(Number(number)))
  )
}

test('in random histories the files answer as the model does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 24 }), async (steps) => {
      using project = temporaryProject()
      const files = history(fileClaims(nodeWorld(), project.root))
      const model = history(modelClaims())
      for (const each of steps) expect(await files.take(each)).toEqual(await model.take(each))
      await files.end()
    }),
    { numRuns: 40 },
  )
})

/** Runs steps against one store and tells what a caller can see of them. */
function history(claims: ClaimDoors): { take(step: Step): Promise<unknown>; end(): Promise<void> } {
  const owners: ClaimOwner[] = []
  const runs = new Map<string, number>() // run ids are random, so they are told as the number of their owner
  const take = async (step: Step): Promise<unknown> => {
    try {
      switch (step.kind) {
        case 'open':
        case 'lookup': {
          const request = requestOf({
            id: IDS[step.id] as string,
            scope: SCOPES[step.scope] as string,
            request: CONTENTS[step.content] as Json,
          })
          const state = await claims[step.kind](request, never)
          if (state.kind !== 'Fresh') {
            const run = 'audit' in state && state.audit !== null ? runs.get(state.audit.run_id) : null
            return { kind: state.kind, run, result: 'result' in state ? state.result : null }
          }
          runs.set(state.owner.audit.run_id, owners.length)
          owners.push(state.owner)
          return { kind: 'Fresh' }
        }
        case 'finish': {
          const owner = owners[step.owner]
          if (owner === undefined) return null
          await write(owner.log, RUNS[step.run]).catch(() => undefined)
          return await owner.finish(step.result)
        }
        case 'release':
          return await owners[step.owner]?.release()
      }
    } catch (error) {
      if (isFault(error)) return { code: error.code }
      throw error
    }
  }
  const end = async (): Promise<void> => {
    for (const owner of owners) await owner.release()
  }
  return { take, end }
}
