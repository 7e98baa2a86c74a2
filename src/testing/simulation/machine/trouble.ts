/** Trouble with the disk, as part of a plan: each is one event that can be left out. */

export type DiskOperation =
  | 'append'
  | 'syncData'
  | 'syncAll'
  | 'syncDirectory'
  | 'create'
  | 'open'
  | 'link'
  | 'rename'
  | 'unlink'
  | 'read'
  | 'list'
  | 'lstat'
  | 'mkdir'
  | 'tryLock'

export interface DiskTrouble {
  readonly on: DiskOperation
  /** Counted from 1 over all processes. */
  readonly nth: number
  /**
   * `fails`: nothing of it happened. `late`: all of it happened, and the answer is an error. `short`: for `append`, a part of
   * the bytes is there, and the answer is an error. `slow`: it takes `ms` longer. `power`, for `append` and `syncData`: the power
   * fails while it is under way.
   */
  readonly how: 'fails' | 'late' | 'short' | 'slow' | 'power'
  /** Default EIO. */
  readonly errno?: 'EIO' | 'ENOSPC' | 'EMFILE' | 'EROFS'
  readonly ms?: number
}
