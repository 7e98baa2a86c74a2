/** Questions, entries and folders for the tests of policy. */
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  type Approval,
  defaultContract,
  preparedCall,
  type RunContext,
  type ToolContract,
} from '../../src/calls/index.ts'
import { canonical, type JsonObject, parseId, type Timestamp } from '../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG, type ProposedAction } from '../../src/events/index.ts'
import type { PolicyEntry } from '../../src/policy/cedar/policy-set.ts'
import type { Decision, Gate, GateQuestion } from '../../src/policy/index.ts'

export const AGENT = parseId('agent', '11111111-1111-4111-8111-111111111111')
export const OTHER_AGENT = parseId('agent', '22222222-2222-4222-8222-222222222222')
export const signal = new AbortController().signal

export function run(parts: Partial<RunContext> = {}): RunContext {
  return {
    agent_id: AGENT,
    started_at: '2026-01-01T00:00:00.000001Z' as Timestamp,
    iteration: 1,
    trusted_context: {},
    config: DEFAULT_LOOP_CONFIG,
    ...parts,
  }
}

export interface ToolParts {
  readonly arguments?: JsonObject
  readonly contract?: Partial<ToolContract>
  readonly resolved?: JsonObject
  readonly context?: JsonObject
  readonly approval?: Approval | null
}

export function toolQuestion(name: string, parts: ToolParts = {}): GateQuestion {
  const value = parts.arguments ?? {}
  const contract = { ...defaultContract({ name, description: '', parameters: {} }), ...parts.contract }
  const action = { ToolCall: { call_id: 'c1', name, arguments: canonical(value) } }
  const call = preparedCall({ action, arguments: value, contract, resolved: parts.resolved ?? {} })
  return asking(call, parts)
}

export function bareQuestion(
  action: ProposedAction,
  parts: Omit<ToolParts, 'arguments' | 'contract'> = {},
): GateQuestion {
  return asking(preparedCall({ action, arguments: null, contract: null, resolved: parts.resolved ?? {} }), parts)
}

function asking(call: GateQuestion['call'], { context, approval }: ToolParts): GateQuestion {
  return {
    call,
    run: run({ trusted_context: context ?? {} }),
    approval: approval ?? null,
    presented: null,
    remainingMs: 60_000,
  }
}

/** A tool call whose arguments were not read by the strict reader, to see what the mapping itself refuses. */
export function rawQuestion(name: string, value: unknown): GateQuestion {
  const question = toolQuestion(name)
  return { ...question, call: { ...question.call, arguments: value as JsonObject } }
}

export const RESPOND: ProposedAction = { Respond: { content: 'hello' } }
export const TERMINATE: ProposedAction = { Terminate: { reason: 'done', output: '' } }
export const DELEGATE: ProposedAction = { Delegate: { call_id: 'd1', target: 'worker', message: 'go' } }

export function entry(name: string, source: string, active = true): PolicyEntry {
  return { name, source, active }
}

export function decide(gate: Gate, question: GateQuestion): Promise<Decision> {
  return gate.decide(question, signal)
}

export async function reasonOf(gate: Gate, question: GateQuestion): Promise<string> {
  const decision = await decide(gate, question)
  return decision.kind === 'Deny' ? decision.reason : decision.kind
}

/** A folder of policies that is removed with the test. */
export class PolicyFolder implements AsyncDisposable {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  static async make(files: Readonly<Record<string, string>> = {}): Promise<PolicyFolder> {
    const folder = new PolicyFolder(join(await mkdtemp(join(tmpdir(), 'policies-')), 'policies'))
    await mkdir(folder.path)
    for (const [name, text] of Object.entries(files)) await folder.write(name, text)
    return folder
  }

  at(name: string): string {
    return join(this.path, name)
  }

  async write(name: string, text: string | Uint8Array): Promise<void> {
    await mkdir(dirname(this.at(name)), { recursive: true })
    await writeFile(this.at(name), text)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await chmod(this.path, 0o700).catch(() => undefined)
    await rm(dirname(this.path), { recursive: true, force: true })
  }
}
