export { type HeldLock, takeLock, tryLockFile } from './locks.ts'
export { ensurePrivateDirectory, hasPrivateDirectory, PRIVATE_FILE_MODE } from './private-directory.ts'
export { judgePrivateFile, openPrivateFile, type PrivateFileRule, readPrivateFile } from './private-file.ts'
export { isTemporaryOf, publishPrivateFile, replacePrivateFile } from './publish.ts'
