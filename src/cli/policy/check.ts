/** `symbi policy check`: rows as compilers write them, with the source line and a caret. */
import { basename, dirname } from 'node:path'
import { Fault } from '../../core/index.ts'
import { checkPolicies, checkPolicyText, describeProblem, type PolicyCheck, type Problem } from '../../policy/index.ts'
import type { Cli, CommonOptions } from '../cli.ts'
import { jsonLine, oneLine, widthOf } from '../plain-text.ts'
import { folderPaths } from '../project/project-paths.ts'

export type CheckOptions = object

const FILE_BYTES_MAX = 4 * 1024 * 1024

export async function check(cli: Cli, options: CommonOptions, paths: readonly string[]): Promise<number> {
  const asked = paths.length > 0 ? paths : [(await folderPaths(cli.world, options.project)).policyFolder]
  let errors = 0
  let warnings = 0
  const files = new Set<string>()
  let policies = 0
  for (const path of asked) {
    const found = await checkPath(cli, path, paths.length > 0)
    policies += found.policies
    for (const file of found.files) files.add(file)
    for (const problem of found.problems) {
      if (problem.severity === 'error') errors += 1
      else warnings += 1
      show(cli, problem, options.json === true)
    }
  }
  const valid = errors === 0
  const totals = { valid, files: files.size, policies, errors, warnings }
  if (options.json === true) cli.console.result(jsonLine({ event: 'summary', ...totals }))
  else cli.console.result(cli.console.paint(valid ? 'green' : 'red', summary(totals)))
  return valid ? 0 : 1
}

/** Problems name their files as the person wrote them, so that an editor can jump there. */
async function checkPath(cli: Cli, path: string, named: boolean): Promise<PolicyCheck> {
  const real = await cli.world.files.realpath(path)
  const kind = real === null ? null : ((await cli.world.files.lstat(real))?.kind ?? null)
  if (real === null || kind === null) {
    if (!named) return await checkPolicies(cli.world, path) // says that there are none
    return broken(path, 'it does not exist')
  }
  if (kind === 'directory') return under(path, await checkPolicies(cli.world, real))
  if (kind !== 'file') return broken(path, 'it is neither a folder nor a file')
  let text: string
  try {
    await using file = await cli.world.files.open(real, 'read')
    if (file === null) return broken(path, 'it went away while it was read')
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await file.readAll(FILE_BYTES_MAX))
  } catch (error) {
    return broken(path, error instanceof Fault ? error.message : 'it is not UTF-8')
  }
  if (!text.trimStart().startsWith('[')) return checkPolicyText(text, path)
  const whole = await checkPolicies(cli.world, dirname(real)) // a list of entries is understood with its folder
  const own = under(dirname(path), whole)
  const name = under(dirname(path), { ...whole, files: [basename(real)] }).files[0]
  return { ...own, files: [path], problems: own.problems.filter(({ file }) => file === null || file === name) }
}

function under(folder: string, found: PolicyCheck): PolicyCheck {
  const prefix = folder === '.' ? '' : folder.endsWith('/') ? folder : `${folder}/`
  const at = (file: string): string => `${prefix}${file}`
  return {
    ...found,
    files: found.files.map(at),
    problems: found.problems.map((problem) => ({
      ...problem,
      file: problem.file === null ? null : at(problem.file),
    })),
  }
}

function broken(path: string, state: string): PolicyCheck {
  const problem: Problem = {
    severity: 'error',
    file: path,
    line: 1,
    column: 1,
    message: `Cannot read the policies: ${state}`,
    hint: 'Give a folder of .cedar files, or a file',
    source: '',
  }
  return { files: [], policies: 0, problems: [problem] }
}

function show({ console }: Cli, problem: Problem, json: boolean): void {
  if (json) {
    console.result(jsonLine({ event: 'problem', ...problem }))
    return
  }
  const style = problem.severity === 'error' ? 'red' : 'yellow'
  const [place, message] = splitPlace(problem)
  console.result(`${console.paint('bold', place)} ${console.paint(style, `${problem.severity}:`)} ${message}`)
  if (problem.source.trim() !== '') {
    const { line, caret } = pointAt(problem)
    console.result(`    ${line}`)
    console.result(`    ${' '.repeat(caret)}${console.paint(style, '^')}`)
  }
  if (problem.hint !== null) console.result(`    hint: ${oneLine(problem.hint)}`)
}

function splitPlace(problem: Problem): readonly [place: string, message: string] {
  const row = oneLine(describeProblem(problem))
  const message = oneLine(problem.message)
  return [row.slice(0, row.length - message.length).trimEnd(), message]
}

/** Every character that could move the cursor becomes one space, so that the caret stays under its column. */
function pointAt({ source, column }: Problem): { readonly line: string; readonly caret: number } {
  const letters = [...source].map((letter) => (oneLine(letter) === '' ? ' ' : letter))
  const indent = letters.length - letters.join('').trimStart().length
  const start = Math.min(indent, Math.max(0, column - 1))
  return { line: letters.slice(start).join('').trimEnd(), caret: widthOf(letters.slice(start, column - 1).join('')) }
}

function summary(totals: {
  readonly files: number
  readonly policies: number
  readonly errors: number
  readonly warnings: number
}): string {
  const { files, policies, errors, warnings } = totals
  const count = (amount: number, one: string, many: string): string => `${amount} ${amount === 1 ? one : many}`
  const found =
    errors + warnings === 0
      ? 'no problems'
      : `${count(errors, 'error', 'errors')}, ${count(warnings, 'warning', 'warnings')}`
  return `${count(files, 'file', 'files')}, ${count(policies, 'policy', 'policies')}: ${found}`
}
