// Holds an exclusive lock on the file named by its argument until it is killed. Prints one line when it has it.
import { openSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'

const { tryLock } = createRequire(import.meta.url)('fs-native-extensions')
const file = openSync(process.argv[2] ?? '', 'r+')
if (!tryLock(file)) process.exit(3)
writeSync(1, 'held\n')
setInterval(() => undefined, 1000)
