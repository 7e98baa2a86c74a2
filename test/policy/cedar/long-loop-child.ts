/**
 * Built and run in a process of its own by long-loop.test.ts, with V8 told to deoptimise every few calls: that forces the
 * fault in which V8 inlines a WebAssembly call, deoptimises it and aborts the process.
 *
 * `engine` asks through the gate. `bare` asks the module without the engine, and so without its flag.
 */
import { createRequire } from 'node:module'
import v8 from 'node:v8'
import { cedarGate } from '../../../src/policy/index.ts'
import { decide, entry, toolQuestion } from '../support.ts'

const [mode, count] = [process.argv[2], Number(process.argv[3])]
const SOURCE = 'permit(principal, action, resource) when { context.n < 10 };'

const events: string[] = []
const setFlags = v8.setFlagsFromString
v8.setFlagsFromString = (flag) => {
  events.push(flag)
  setFlags(flag)
}
// The types of this project have no WebAssembly, because nothing but the engine touches it.
const wasm = (globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => object } }).WebAssembly
wasm.Module = class extends wasm.Module {
  constructor(bytes: Uint8Array) {
    if (bytes.length > 1_000_000) events.push('module loaded')
    super(bytes)
  }
}

async function askTheGate(): Promise<number> {
  using gate = cedarGate({ policies: [entry('p', SOURCE)], default: 'deny' })
  const questions = Array.from({ length: 20 }, (_, n) =>
    toolQuestion('x', { context: { n }, arguments: { text: `é${n}` } }),
  )
  let allowed = 0
  for (let n = 0; n < count; n += 1) {
    if ((await decide(gate, questions[n % 20]!)).kind === 'Allow') allowed += 1
  }
  return allowed
}

function askTheModule(): number {
  const require = createRequire(import.meta.url)
  const cedar = require('@cedar-policy/cedar-wasm/nodejs') as typeof import('@cedar-policy/cedar-wasm/nodejs')
  cedar.preparsePolicySet('x', { staticPolicies: { p: SOURCE } })
  const name = { type: 'Agent', id: 'a' }
  const action = { type: 'Action', id: 'x' }
  let allowed = 0
  for (let n = 0; n < count; n += 1) {
    const context = { n: n % 20, text: `é${n}` }
    const call = { principal: name, action, resource: name, context, entities: [], preparsedPolicySetId: 'x' }
    const answer = cedar.statefulIsAuthorized(call)
    if (answer.type === 'success' && answer.response.decision === 'allow') allowed += 1
  }
  return allowed
}

const allowed = mode === 'bare' ? askTheModule() : await askTheGate()
process.stdout.write(`${JSON.stringify({ allowed, events })}\n`)
