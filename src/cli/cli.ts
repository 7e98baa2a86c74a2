/** What every command gets, and how a command is declared: `--project` and `--json` everywhere, and one way to fail. */
import { Command, Option } from 'commander'
import type { World } from '../world/index.ts'
import type { Console } from './console.ts'

export interface Cli {
  readonly world: World
  /** The environment, read here and nowhere below. */
  readonly env: { readonly [name: string]: string | undefined }
  readonly console: Console
}

export interface CommonOptions {
  /** The project's folder. Default: the current one. */
  readonly project: string
  /** One JSON object a line on stdout, instead of text. */
  readonly json?: true
}

/** Resolves with the exit code. A Fault that it throws is printed, and its code's row says the exit code. */
export type Action<O> = (options: O & CommonOptions, args: readonly string[]) => Promise<number>

export interface Leaf<O> {
  readonly name: string
  readonly summary: string
  /** As commander spells them: `<id>`, `[text...]`. */
  readonly args?: readonly (readonly [spelling: string, help: string])[]
  readonly options?: readonly Option[]
  /** What its parent does when no command of it is named. */
  readonly isDefault?: true
  readonly action: Action<O>
}

export type ExitCode = { code: number }

/** Adds one command. Unknown flags and further arguments are usage errors. */
export function addCommand<O>(parent: Command, exit: ExitCode, leaf: Leaf<O>): void {
  const command = new Command(leaf.name)
    .description(leaf.summary)
    .addOption(new Option('--project <dir>', 'the folder of the project').default('.', 'the current folder'))
    .addOption(new Option('--json', 'print JSON, one object a line'))
    .allowExcessArguments(false)
  for (const [spelling, help] of leaf.args ?? []) command.argument(spelling, help)
  for (const option of leaf.options ?? []) command.addOption(option)
  command.action(async (...parts: unknown[]) => {
    const args = parts
      .slice(0, -2)
      .flat()
      .filter((part): part is string => typeof part === 'string')
    exit.code = await leaf.action(command.opts() as O & CommonOptions, args)
  })
  parent.addCommand(command, { isDefault: leaf.isDefault === true })
}
