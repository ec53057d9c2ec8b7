/** Choices that the address of a playground holds. The router reads them before the screen is loaded. */

/** The kind of answer that a model gives. */
export const MAKINGS = ['chat', 'image', 'speech', 'film', 'music'] as const
export const EFFORTS = ['minimal', 'low', 'medium', 'high'] as const
export const VOICES = ['alloy', 'ash', 'coral', 'echo', 'nova', 'sage', 'shimmer'] as const
export const SIZES = ['1024x1024', '1536x1024', '1024x1536'] as const
