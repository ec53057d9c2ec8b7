/**
 * The workspace that this tab acts in. Other tabs have their own choice, and a new tab begins with the reader's own
 * account.
 */
const KEPT = 'mkt_workspace'
const HEADER = 'x-mkt-workspace'

export type ChosenWorkspace = {
  readonly id: string
  /** The organisation and the workspace, as the frame names them. */
  readonly name: string
}

/** Undefined while the tab acts for the reader's own account. */
export function chosenWorkspace(): ChosenWorkspace | undefined {
  const [id = '', name = ''] = (sessionStorage.getItem(KEPT) ?? '').split('\n')
  return id === '' ? undefined : { id, name }
}

/** Sent with every call of this tab, so that the market reads and charges the account that the frame names. */
export function workspaceHeaders(): Readonly<Record<string, string>> {
  const chosen = chosenWorkspace()
  return chosen === undefined ? {} : { [HEADER]: chosen.id }
}

/** Acts for a workspace, or for the own account. The page is loaded anew, so no figure of the former account stays. */
export function switchWorkspace(chosen: ChosenWorkspace | undefined, path: string = location.pathname): void {
  if (chosen === undefined) forgetWorkspace()
  else sessionStorage.setItem(KEPT, `${chosen.id}\n${chosen.name}`)
  location.assign(path)
}

export function forgetWorkspace(): void {
  sessionStorage.removeItem(KEPT)
}
