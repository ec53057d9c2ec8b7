import { domainToASCII } from 'node:url'
import { z } from 'zod'

/** Longest parts of an address (RFC 5321, section 4.5.3.1). */
const MAX_CHARS = 254
const MAX_NAME_CHARS = 64
/** The part before the @ without quotes, in letters that every mail server takes. */
const NAME = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/
/** A host with a dot that ends in letters, so that no IP address and no name of a local network passes. */
const HOST = /^(?:[\da-z](?:[\da-z-]{0,61}[\da-z])?\.)+(?:[a-z]{2,63}|xn--[\da-z-]{1,59})$/

/**
 * The one form of an address. Both parts are in lower case, and an international domain is in its ASCII form (UTS 46).
 * Dots and `+` before the @ stay, because mail servers differ in what they ignore. Undefined for anything else, such as
 * a name with letters beyond ASCII, which may look like other letters. Mail always goes to this form, so a look-alike
 * address never gets the link of another address.
 */
export function normalizeEmail(text: string): string | undefined {
  const typed = text.trim()
  const at = typed.lastIndexOf('@')
  const name = typed.slice(0, at)
  const host = domainToASCII(typed.slice(at + 1))
  if (at < 1 || name.length > MAX_NAME_CHARS || !NAME.test(name) || !HOST.test(host)) return undefined
  const address = `${name.toLowerCase()}@${host}`
  return address.length <= MAX_CHARS ? address : undefined
}

/** An address from outside, in its one form. */
export const EmailAddress = z
  .string()
  .max(MAX_CHARS)
  .transform((text, context) => {
    const address = normalizeEmail(text)
    if (address !== undefined) return address
    context.addIssue({ code: 'custom', message: 'use an e-mail address such as ada@example.com' })
    return z.NEVER
  })
