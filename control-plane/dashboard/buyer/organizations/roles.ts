/** The roles of an organisation and what each may do, the least first. */
const ROLES = [
  { value: 'viewer', label: 'viewer: reads' },
  { value: 'billing', label: 'billing: reads, and the audit' },
  { value: 'developer', label: 'developer: uses workspaces' },
  { value: 'admin', label: 'admin: changes people, workspaces and keys' },
  { value: 'owner', label: 'owner: everything, including owners' },
] as const

/** The roles that a member of a role may give. Only an owner makes owners. */
export function rolesFor(own: string): readonly { readonly value: string; readonly label: string }[] {
  return own === 'owner' ? ROLES : ROLES.filter(({ value }) => value !== 'owner')
}
