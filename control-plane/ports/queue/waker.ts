/** Work that has rows of its own and can be begun at once instead of at the next look. */
export type WakeTask = 'seller-operations'

/** Wakes the workers. Never throws: what is not told now is found at the next look. */
export type Waker = (task: WakeTask) => Promise<void>
