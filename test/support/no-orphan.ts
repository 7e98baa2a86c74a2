/**
 * For processes that would not end by themselves: a server does not care that its standard input has ended, and tests that were
 * killed cannot end it. With these flags of Node, and `ipc` as one of its streams, it has a channel to the process that started
 * it, which says nothing and is closed with that process; then it ends as well.
 */
const script = "process.once('disconnect', () => process.kill(process.pid, 'SIGKILL')); process.channel?.unref()"

export const NO_ORPHAN: readonly string[] = ['--import', `data:text/javascript,${encodeURIComponent(script)}`]
