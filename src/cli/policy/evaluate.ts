/**
 * `symbi policy evaluate`: reads one call, and says the decision, the reason, and the lines that made it. The call is prepared
 * with the tools of the project, so that policy is asked about the contract and the resource that it would see in a run.
 */
import type { PreparedCall } from '../../calls/index.ts'
import { CODES, Fault, isFault, type Json } from '../../core/index.ts'
import type { ProposedAction } from '../../events/index.ts'
import { evaluatePolicy, type PolicyEvaluation, type PolicyPlace, SURFACE } from '../../policy/index.ts'
import type { Cli, CommonOptions } from '../cli.ts'
import { jsonLine, oneLine } from '../plain-text.ts'
import { folderPaths } from '../project/project-paths.ts'
import { readSetting } from '../settings/config.ts'
import { inputBytes } from '../standard-input.ts'
import { callIn, callInFile } from './call-file.ts'
import { requireSurface } from './known-surface.ts'
import { toolsFor } from './tools-for.ts'

export interface EvaluateFlags {
  readonly input?: string
  readonly stdin?: true
  readonly policies?: string
  readonly surface: string
  readonly allowMissing?: true
}

const BAD_INPUT_EXIT = 2

export async function evaluate(cli: Cli, options: EvaluateFlags & CommonOptions): Promise<number> {
  const { root, policyFolder } = await folderPaths(cli.world, options.project)
  const folder = options.policies ?? policyFolder
  await requireSurface(cli.world, folder, options.surface)
  const approvalTools = await readSetting(cli.world, 'approvalTools', { root, flags: {}, env: cli.env })
  let stranger: Stranger | null = null
  const prepare = async (action: ProposedAction): Promise<PreparedCall> => {
    const { box, stranger: name, reason } = await toolsFor(cli.world, root, action)
    if (name !== null) stranger = { name, reason }
    return box.prepare(action, box.definitions())
  }
  let evaluation: PolicyEvaluation
  try {
    const input = await inputOf(cli, options)
    const allowMissing = options.allowMissing === true
    const { surface } = options
    const context = surface === SURFACE.toolClient ? { surface } : {}
    const asked = { folder, surface, context, allowMissing, prepare, approvalTools }
    evaluation = await evaluatePolicy(cli.world, input, asked)
  } catch (error) {
    if (!isFault(error, 'INVALID_JSON', 'INVALID_REQUEST', 'PAYLOAD_TOO_LARGE', 'NOT_FOUND')) throw error
    return badInput(cli, error, options.json === true)
  }
  print(cli, { evaluation, folder, stranger }, options.json === true)
  return 0
}

async function inputOf(cli: Cli, { input, stdin }: EvaluateFlags): Promise<Json> {
  if ((input === undefined) === (stdin !== true)) {
    throw new Fault('USAGE', {
      message: 'Cannot evaluate: the call is to come either from --input FILE or from --stdin',
      hint: 'Give one of the two, for example: echo \'{"tool":"system_health"}\' | symbi policy evaluate --stdin',
    })
  }
  return input === undefined ? callIn(await inputBytes(cli.console, 'the call')) : await callInFile(cli, input)
}

function badInput({ console }: Cli, fault: Fault, json: boolean): number {
  if (json) {
    const details = { hint: fault.hint ?? null, ...fault.facts }
    console.note(jsonLine({ error: fault.message, code: fault.code, details }))
  } else {
    console.note(`${fault.code}: ${oneLine(fault.message)}`)
    console.note(`hint: ${oneLine(fault.hint ?? CODES[fault.code].says)}`)
  }
  return BAD_INPUT_EXIT
}

/** What the call names and the project does not have. */
interface Stranger {
  readonly name: string
  /** Why it cannot be used, where the project has something of this name. */
  readonly reason: string | null
}

interface Evaluated {
  readonly evaluation: PolicyEvaluation
  readonly folder: string
  readonly stranger: Stranger | null
}

/** The decision alone goes to stdout, so that a script can compare it; why it was made is for people. */
function print({ console }: Cli, { evaluation, folder, stranger }: Evaluated, json: boolean): void {
  const { decision, reason, subject, approval, approval_reason, request, policies, errors, mapping_note } = evaluation
  if (json) {
    const known = { known: stranger === null, unavailable: stranger?.reason ?? null }
    console.result(jsonLine({ ...evaluation, ...known, tool: subject, policies_dir: folder }))
    return
  }
  console.result(console.paint(decision === 'allow' ? 'green' : 'red', decision))
  console.note(`${oneLine(subject)}: ${oneLine(reason)}`)
  for (const policy of policies) console.note(`  decided by ${placeWords(policy)}`)
  for (const error of errors) console.note(`  failed: ${placeWords(error)}: ${oneLine(error.message)}`)
  if (request !== null) {
    console.note(`  asked as ${oneLine(`${request.principal}, ${request.action}, ${request.resource}`)}`)
  }
  if (approval === 'missing') {
    const held = 'until a person gave one the call is held or denied, and policy is not asked'
    console.note(`  ${oneLine(approval_reason ?? 'the call needs an approval')}: ${held}`)
  }
  if (stranger !== null) console.note(`  ${strangerWords(stranger)}`)
  console.note(`  ${mapping_note}`)
}

function placeWords({ name, file, line }: PolicyPlace): string {
  return oneLine(`"${name}" (${file ?? 'policy'}:${line})`)
}

function strangerWords({ name, reason }: Stranger): string {
  if (reason !== null) return `not available is ${oneLine(name, 100)}: ${oneLine(reason)}`
  return `not known here is ${oneLine(name, 100)}: the call was taken as it was given`
}
