/** The process behind the command `symbi`: hands argv, environment and streams to the program, and exits with its code. */
import { nodeWorld } from '../world/index.ts'
import { processConsole } from './console.ts'
import { run } from './program.ts'

process.exitCode = await run(process.argv.slice(2), { world: nodeWorld(), env: process.env, console: processConsole() })
