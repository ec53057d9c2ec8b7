/** The way in which a browser is signed in, by kind of viewer. */
export const SESSIONS = {
  nobody: 'nothing',
  session: 'your account',
  buyer: 'a buyer key',
  seller: 'a seller key',
  org: 'an organisation key',
  operator: 'an operator key',
} as const
