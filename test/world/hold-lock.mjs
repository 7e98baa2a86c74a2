/** Takes the lock of the file that it was given, says so, and holds it until it is killed. */
import { openSync } from 'node:fs'
import { createRequire } from 'node:module'

const { tryLock } = createRequire(import.meta.url)('fs-native-extensions')
const fd = openSync(String(process.argv[2]), 'r+')
process.stdout.write(tryLock(fd) ? 'held\n' : 'refused\n')
setInterval(() => undefined, 1_000_000)
