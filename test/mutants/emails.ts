import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const EMAIL_LINK = 'control-plane/services/sign-in/email-link.ts'
const EMAIL_SESSION = 'control-plane/services/sign-in/email-session.ts'
const EMAILS = 'control-plane/services/sign-in/emails.ts'
const ALERT_MAIL = 'control-plane/services/webhooks/alert-mail.ts'
const SENDER = 'control-plane/ports/mail/smtp-mail-sender.ts'
const DB_EMAILS = 'control-plane/db/emails.ts'

const SIGN_IN_TEST = tests('doors/email-sign-in')
const ALERTS_TEST = tests('doors/email-alerts')
const MAIL_TEST = tests('services/mail')

/** Mistakes that let another person into an account by mail, or send mail to a reader who did not agree. */
export const EMAIL_MUTANTS: readonly Mutant[] = [
  mutant('a-scanner-signs-in-by-a-link', SIGN_IN_TEST, `${EMAIL_SESSION}#createEmailSession`, {
    '!isOfBrowser(ctx, link, browser) && !isConfirmed': '!isOfBrowser(ctx, link, browser) && isConfirmed',
  }),
  mutant('any-browser-counts-as-the-one-that-asked', SIGN_IN_TEST, `${EMAIL_LINK}#isOfBrowser`, {
    'Buffer.from(hashBrowser(browser, settings.sessionSecret))':
      'Buffer.from(browser === hashBrowser(browser, settings.sessionSecret) ? browser : browserHash)',
  }),
  mutant('a-link-outlives-its-minutes', SIGN_IN_TEST, `${DB_EMAILS}#findEmailLink`, {
    "where('expires_at', '>', new Date(now))": "where('expires_at', '>', new Date(now - 3_600_000))",
  }),
  mutant('a-link-works-for-rivals', SIGN_IN_TEST, `${EMAIL_SESSION}#createEmailSession`, {
    '(await deleteEmailLink(trx, hash, ctx.clock.now())) === undefined':
      '(await deleteEmailLink(trx, hash, ctx.clock.now())) === null',
  }),
  mutant('a-link-that-adds-signs-in', SIGN_IN_TEST, `${EMAIL_SESSION}#createEmailSession`, {
    "link.purpose !== 'sign_in'": "link.purpose === 'sign_in' && link.user !== null",
  }),
  mutant('a-link-adds-its-address-to-any-account', SIGN_IN_TEST, `${EMAILS}#createEmail`, {
    ' || link.user !== user': '',
  }),
  mutant('a-link-that-signs-in-adds-its-address', SIGN_IN_TEST, `${EMAILS}#createEmail`, {
    "link.purpose !== 'add' || link.user !== user": 'link.user !== null && link.user !== user',
  }),
  mutant('an-old-session-adds-an-address', SIGN_IN_TEST, `${EMAIL_LINK}#requireAdding`, {
    'requireRecentSignIn(ctx, actor)': 'void requireRecentSignIn',
  }),
  mutant('a-reader-gets-any-number-of-links', SIGN_IN_TEST, `${EMAIL_LINK}#createEmailLink`, {
    '>= MAX_LINKS': '>= MAX_LINKS * 10',
  }),
  mutant('a-link-leads-to-another-host', SIGN_IN_TEST, EMAIL_LINK, { '(?!\\/)[!-[\\]-~]*$': '[!-~]*$' }),
  mutant('the-last-address-goes', SIGN_IN_TEST, `${EMAILS}#removeEmail`, {
    'await requireSomeWay(ctx, trx, user)': 'void requireSomeWay',
  }),
  mutant('a-removed-address-leaves-its-sessions', SIGN_IN_TEST, `${EMAILS}#removeEmail`, {
    'await deleteOtherSessions(trx, user, sessionId)': 'void [deleteOtherSessions, sessionId]',
  }),
  mutant('a-removed-address-leaves-its-links', SIGN_IN_TEST, `${EMAILS}#removeEmail`, {
    'await deleteEmailLinks(trx, found.address)': 'void found',
  }),
  mutant('a-removed-address-gets-alerts', ALERTS_TEST, `${EMAILS}#removeEmail`, {
    'await disableAlertsTo(trx, `mailto:${found.address}`, ctx.clock.now())': 'void disableAlertsTo',
  }),
  mutant('alerts-go-to-any-address', ALERTS_TEST, `${ALERT_MAIL}#requireOwnAddress`, {
    'if (await hasEmail(db, user, address)) return': 'if ((await hasEmail(db, user, address)) !== null) return',
  }),
  mutant('a-token-ends-any-alert', ALERTS_TEST, `${ALERT_MAIL}#endAlert`, {
    ' || !timingSafeEqual(given, expected)': ' || timingSafeEqual(given, given) === (expected.length === 0)',
  }),
  mutant('alerts-pass-the-daily-limit', ALERTS_TEST, `${ALERT_MAIL}#notesOf`, {
    'count > MAX_ALERT_MAILS_A_DAY': 'count > MAX_ALERT_MAILS_A_DAY + 5',
  }),
  mutant('a-subject-has-a-second-header', MAIL_TEST, `${SENDER}#requirePlainHeads`, {
    '![to, subject, unsubscribeUrl].every(isOneLine)': '![to, unsubscribeUrl].every(isOneLine)',
  }),
  mutant('a-mail-has-a-second-reader', MAIL_TEST, `${SENDER}#requirePlainHeads`, {
    '!BARE_ADDRESS.test(to) || ': '',
  }),
  mutant('a-failure-repeats-the-address', MAIL_TEST, `${SENDER}#answerOf`, {
    'const { code, responseCode } = Failure.parse(error instanceof Error ? error : {})':
      'const { responseCode } = Failure.parse(error instanceof Error ? error : {})\n  const code = String(error)',
  }),
  mutant(
    'a-mail-lies-open-in-the-queue',
    MAIL_TEST,
    'control-plane/ports/mail/redis-mail-queue.ts#createRedisMailQueue',
    {
      "await queue.add('send', { v: 1, until, sealed }": "await queue.add('send', { v: 1, until, sealed, ...mail }",
    },
  ),
]
