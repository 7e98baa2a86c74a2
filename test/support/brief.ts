/**
 * For processes that live for a second: V8 runs them with its first compilers only. What the optimising ones would cost, of
 * which most goes to the policy engine, is a third of such a process, and it ends before it gets any of that back.
 */
export const BRIEF: readonly string[] = ['--liftoff-only', '--no-opt']
