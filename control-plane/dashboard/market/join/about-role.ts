const RIGHTS: Readonly<Record<string, string>> = {
  viewer: 'you can see everything but the audit',
  billing: 'you can see everything, the audit included',
  developer: 'you can use workspaces and create keys for them',
  admin: 'you can change people, workspaces and keys',
}

/** The rights of a role, as an invited person reads them. */
export function aboutRole(role: string): string {
  return RIGHTS[role] ?? 'you can see the organisation'
}
