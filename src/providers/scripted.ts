/**
 * A model that answers from a script: for demos and tests. The first rule whose conditions all hold answers; a
 * conversation that no rule covers is an error, never a guess. Its replies pass the same check as those of real models.
 */
import { basename } from 'node:path'
import { type Code, canonical, Fault, fit, isFault, readJson, shapes, type TypeOf } from '../core/index.ts'
import { usageShape } from '../events/index.ts'
import type { World } from '../world/index.ts'
import { providerFault, type Target } from './faults.ts'
import type { Conversation, InferenceResponse, Provider } from './port.ts'
import { checkedReply } from './reply.ts'

const { boundedText, jsonObject, list, literal, object, optional, text, uint } = shapes

const ERROR_CODES = {
  provider: 'PROVIDER_ERROR',
  rate_limited: 'PROVIDER_RATE_LIMITED',
  context_overflow: 'PROVIDER_CONTEXT_OVERFLOW',
  model_unavailable: 'PROVIDER_MODEL_UNAVAILABLE',
  invalid_request: 'PROVIDER_INVALID_REQUEST',
  timeout: 'PROVIDER_TIMEOUT',
  parse_error: 'PROVIDER_PARSE_ERROR',
} as const satisfies Record<string, Code>
type ErrorKind = keyof typeof ERROR_CODES

const replyShape = object({
  content: optional(text),
  tool_calls: optional(list(object({ id: text, name: text, arguments: jsonObject }))),
  usage: optional(usageShape),
  delay_ms: optional(uint),
  stall: optional(literal(true)),
  error: optional(literal(...(Object.keys(ERROR_CODES) as ErrorKind[]))),
})
const whenShape = object({
  agent: optional(text),
  last_role: optional(literal('system', 'user', 'assistant', 'tool')),
  contains: optional(text),
})
const scriptShape = object({
  model: boundedText(1, 256),
  rules: list(object({ when: whenShape, reply: replyShape })),
})
export type Script = TypeOf<typeof scriptShape>
type When = TypeOf<typeof whenShape>

const SCRIPT_BYTES_MAX = 4 * 1024 * 1024
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }

/** A script by the path of its file, as its text, or as a value. */
export type ScriptSource = { readonly path: string } | { readonly text: string } | { readonly script: Script }

export async function scripted(source: ScriptSource, world: World): Promise<Provider> {
  const script = await scriptFrom(source, world)
  return {
    name: 'scripted',
    defaultModel: script.model,
    countInput: () => null,
    async complete(conversation, _options, signal) {
      signal.throwIfAborted()
      return await answer(script, conversation, world, signal)
    },
  }
}

async function answer(
  script: Script,
  conversation: Conversation,
  world: World,
  signal: AbortSignal,
): Promise<InferenceResponse> {
  const target = { provider: 'scripted', model: script.model }
  const scene = sceneOf(conversation)
  const rule = script.rules.find(({ when }) => holds(when, scene))
  if (rule === undefined) throw noRule(target, scene)
  const { reply } = rule
  if (reply.delay_ms !== undefined) await world.clock.sleep(reply.delay_ms, signal)
  while (reply.stall === true) await world.clock.sleep(HOUR_MS, signal) // ends with the signal, and never otherwise
  if (reply.error !== undefined) throw scriptedError(target, reply.error)
  return checkedReply(target, {
    text: (reply.content ?? '').replaceAll('{{last}}', () => scene.last),
    calls: (reply.tool_calls ?? []).map((call) => ({ ...call, arguments: canonical(call.arguments) })),
    finish: 'stop',
    usage: reply.usage ?? USAGE,
    model: script.model,
  })
}

const HOUR_MS = 3_600_000

/** What conditions look at. */
interface Scene {
  readonly agent: string | null
  readonly lastRole: string | null
  readonly last: string
}

function sceneOf({ messages }: Conversation): Scene {
  const last = messages.at(-1)
  const system = messages.find((message) => message.role === 'system')
  return { agent: agentIn(system?.content ?? ''), lastRole: last?.role ?? null, last: last?.content ?? '' }
}

/** The name that the first system message gives the agent. The coordinator's says what it is and gives no name. */
function agentIn(system: string): string | null {
  if (system.trimStart().startsWith('You are the coordinator')) return 'coordinator'
  return /You are agent '([^'\n]+)'\./.exec(system)?.[1] ?? null
}

function holds(when: When, scene: Scene): boolean {
  if (when.agent !== undefined && when.agent !== scene.agent) return false
  if (when.last_role !== undefined && when.last_role !== scene.lastRole) return false
  return when.contains === undefined || scene.last.includes(when.contains)
}

function noRule(target: Target, scene: Scene): Fault {
  const agent = scene.agent === null ? 'no agent named' : `agent ${JSON.stringify(scene.agent)}`
  return providerFault(
    'PROVIDER_ERROR',
    target,
    `no rule of the script matches (${agent}, last role ${JSON.stringify(scene.lastRole ?? 'none')})`,
    'Add a rule for this case; a last rule with an empty "when" covers the rest',
  )
}

function scriptedError(target: Target, kind: ErrorKind): Fault {
  const facts = kind === 'rate_limited' ? { retry_after_ms: null } : {}
  return providerFault(
    ERROR_CODES[kind],
    target,
    `the script answers with the error ${JSON.stringify(kind)}`,
    'The script asks for this error; change its rule to get a reply',
    facts,
  )
}

async function scriptFrom(source: ScriptSource, world: World): Promise<Script> {
  if ('path' in source) return await scriptIn(source.path, world)
  return scriptOf('text' in source ? source.text : JSON.stringify(source.script), 'the script') // a value is read as strictly
}

async function scriptIn(path: string, world: World): Promise<Script> {
  const name = `script ${JSON.stringify(basename(path))}` // the folder is nobody's business
  const real = await world.files.realpath(path)
  await using file = real === null ? null : await world.files.open(real, 'read')
  if (file === null) throw unusableScript(name, 'there is no such file')
  if ((await file.facts()).kind !== 'file') throw unusableScript(name, 'it is not a regular file')
  let bytes: Uint8Array
  try {
    bytes = await file.readAll(SCRIPT_BYTES_MAX)
  } catch (error) {
    if (isFault(error, 'FILE_TOO_LARGE')) throw unusableScript(name, `it is longer than ${SCRIPT_BYTES_MAX} bytes`)
    throw error
  }
  return scriptOf(bytes, name)
}

function scriptOf(source: string | Uint8Array, name: string): Script {
  let value: unknown
  try {
    value = readJson(source, { bytesMax: SCRIPT_BYTES_MAX })
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    throw unusableScript(name, error.message)
  }
  return fit(scriptShape, value, name, 'CONFIG_INVALID')
}

function unusableScript(name: string, state: string): Fault {
  return new Fault('CONFIG_INVALID', {
    message: `Cannot use ${name}: ${state}`,
    hint: 'Give a JSON file with the members "model" and "rules"',
  })
}
