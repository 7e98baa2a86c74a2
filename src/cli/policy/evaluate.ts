/** `symbi policy evaluate`: reads one call, and says the decision, the reason, and the lines that made it. */
import { CODES, Fault, isFault, type Json } from '../../core/index.ts'
import { evaluatePolicy, type PolicyEvaluation, type PolicyPlace } from '../../policy/index.ts'
import type { Cli, CommonOptions } from '../cli.ts'
import { jsonLine, oneLine } from '../plain-text.ts'
import { folderPaths } from '../project/project-paths.ts'
import { inputBytes } from '../standard-input.ts'
import { callIn, callInFile } from './call-file.ts'

export interface EvaluateFlags {
  readonly input?: string
  readonly stdin?: true
  readonly policies?: string
  readonly surface: string
  readonly allowMissing?: true
}

const BAD_INPUT_EXIT = 2

export async function evaluate(cli: Cli, options: EvaluateFlags & CommonOptions): Promise<number> {
  const folder = options.policies ?? (await folderPaths(cli.world, options.project)).policyFolder
  let evaluation: PolicyEvaluation
  try {
    const input = await inputOf(cli, options)
    const allowMissing = options.allowMissing === true
    evaluation = await evaluatePolicy(cli.world, input, { folder, surface: options.surface, allowMissing })
  } catch (error) {
    if (!isFault(error, 'INVALID_JSON', 'INVALID_REQUEST', 'PAYLOAD_TOO_LARGE', 'NOT_FOUND', 'CALL_INVALID'))
      throw error
    return badInput(cli, error, options.json === true)
  }
  print(cli, evaluation, folder, options.json === true)
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

/** The decision alone goes to stdout, so that a script can compare it; why it was made is for people. */
function print({ console }: Cli, evaluation: PolicyEvaluation, folder: string, json: boolean): void {
  const { decision, reason, subject, approval, request, policies, errors, mapping_note } = evaluation
  if (json) {
    console.result(jsonLine({ ...evaluation, tool: subject, policies_dir: folder }))
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
    console.note(
      '  the tool requires an approval: until a person gave one the call is held or denied, and policy is not asked',
    )
  }
  console.note(`  ${mapping_note}`)
}

function placeWords({ name, file, line }: PolicyPlace): string {
  return oneLine(`"${name}" (${file ?? 'policy'}:${line})`)
}
