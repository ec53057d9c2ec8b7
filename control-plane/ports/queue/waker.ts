/** Work with rows of its own. A wake-up starts it before its next regular turn. */
export type WakeTask = 'seller-operations'

/** Wakes the workers. Never throws. When the wake-up is lost, the next regular turn finds the work. */
export type Waker = (task: WakeTask) => Promise<void>
