import { Link } from '@tanstack/react-router'
import { PageWorkspacesDocument } from './data/documents/viewer.ts'
import { useScreen } from './data/use-query.ts'
import { chosenWorkspace, switchWorkspace } from './data/workspace.ts'

/** The accounts that a reader may act for: the reader's own, and the workspaces of organisations. */
export function WorkspaceMenu({ isOpen }: { readonly isOpen: boolean }) {
  const { data } = useScreen(PageWorkspacesDocument, {}, { isOn: isOpen })
  const chosen = chosenWorkspace()
  const workspaces = (data?.ownWorkspaces ?? []).map(({ id, name, organizationName }) => ({
    id,
    name: `${organizationName} / ${name}`,
  }))
  return (
    <fieldset className="field">
      <legend>Account</legend>
      <ul className="menu-choices">
        {[undefined, ...workspaces].map((choice) => (
          <li key={choice?.id ?? 'own'}>
            <button
              type="button"
              className="menu-item"
              aria-pressed={choice?.id === chosen?.id}
              onClick={() => switchWorkspace(choice)}
            >
              {choice?.name ?? 'Personal account'}
            </button>
          </li>
        ))}
      </ul>
      <Link to="/buyer/organizations" search={{}} className="menu-item">
        Manage organisations
      </Link>
    </fieldset>
  )
}
