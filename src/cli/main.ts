/** The process behind the command `symbi`: hands argv, environment and streams to the program, and exits with its code. */
import { nodeWorld } from '../world/index.ts'
import { processConsole } from './console.ts'
import { run } from './program.ts'

/** For a client that still reads: one that does not would keep a process that was told to end for as long as it likes. */
const UNREAD_MS = 500

const world = nodeWorld()
const console = processConsole()
process.exitCode = await run(process.argv.slice(2), { world, env: process.env, console })
if (console.abandonsOutput) world.clock.timer(UNREAD_MS, () => process.exit(), false)
