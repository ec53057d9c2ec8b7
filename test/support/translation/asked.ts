import { z } from 'zod'

/** Sample providers of the two protocols. */
export const SELLERS = ['sandbox-a', 'sandbox-e']

export const City = z.object({ city: z.string(), inhabitants: z.number() })
export const ASKED = [{ role: 'user' as const, content: 'Which city do you like?' }]

/** Routing has no member in the client's types. */
export const at = <Body extends object>(provider: string, body: Body): Body => Object.assign({ provider }, body)

export const Adapted = z.looseObject({ usage: z.looseObject({ adapted_params: z.array(z.string()).optional() }) })
