import {
  acceptInvitation,
  createInvitation,
  declineInvitation,
  InvitationViewSchema,
  listOrganizationInvitations,
  listOwnInvitations,
  withdrawInvitation,
} from '#control-plane/services/organizations/invitations.ts'
import type { CreatedInviteLink } from '#control-plane/services/organizations/invite-links.ts'
import {
  createInviteLink,
  InviteLinkViewSchema,
  listInviteLinks,
  revokeInviteLink,
} from '#control-plane/services/organizations/invite-links.ts'
import {
  acceptInviteLink,
  OpenInviteSchema,
  openInviteLink,
} from '#control-plane/services/organizations/join-by-link.ts'
import {
  listOrganizationMembers,
  MemberViewSchema,
  removeMember,
  updateMember,
} from '#control-plane/services/organizations/members.ts'
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  OrganizationViewSchema,
  updateOrganization,
} from '#control-plane/services/organizations/organizations.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'

const Organization = objectOf('Organization', OrganizationViewSchema, {
  description: 'An organisation with the role of the caller. Instants are Unix milliseconds.',
})

const Member = objectOf('Member', MemberViewSchema, { description: 'A member of an organisation.' })

const Invitation = objectOf('Invitation', InvitationViewSchema, {
  description: 'An open invitation, or an invitation that was just answered.',
  ids: ['organization'],
})

const InviteLink = objectOf('InviteLink', InviteLinkViewSchema, {
  description: 'An invite link that works, without its secret.',
  ids: ['organization', 'invitedBy'],
})

const CreatedLink = builder.objectRef<CreatedInviteLink>('CreatedInviteLink').implement({
  description: 'A new invite link. `url` is shown in this answer only.',
  fields: (t) => ({
    url: t.string({ resolve: ({ url }) => url.reveal() }),
    record: t.field({ type: InviteLink, resolve: (created) => created }),
  }),
})

const OpenInvite = objectOf('OpenInvite', OpenInviteSchema, {
  description: 'The organisation and the role that an invite link offers.',
  ids: ['organization'],
})

builder.queryFields((t) => ({
  organizations: t.field({
    type: [Organization],
    complexity: LIST_COST,
    ...fieldOf(listOrganizations, {}, ({ organizations }) => organizations),
  }),
  organization: t.field({ type: Organization, ...fieldOf(getOrganization, { ids: ['organization'] }) }),
  members: t.field({
    type: [Member],
    complexity: LIST_COST,
    ...fieldOf(listOrganizationMembers, { ids: ['organization'] }, ({ members }) => members),
  }),
  invitations: t.field({
    type: [Invitation],
    complexity: LIST_COST,
    ...fieldOf(listOrganizationInvitations, { ids: ['organization'] }, ({ invitations }) => invitations),
  }),
  inviteLinks: t.field({
    type: [InviteLink],
    complexity: LIST_COST,
    ...fieldOf(listInviteLinks, { ids: ['organization'] }, ({ inviteLinks }) => inviteLinks),
  }),
  ownInvitations: t.field({
    type: [Invitation],
    complexity: LIST_COST,
    ...fieldOf(listOwnInvitations, {}, ({ invitations }) => invitations),
  }),
}))

builder.mutationFields((t) => ({
  createOrganization: t.field({ type: Organization, ...fieldOf(createOrganization) }),
  updateOrganization: t.field({ type: Organization, ...fieldOf(updateOrganization, { ids: ['organization'] }) }),
  updateMember: t.field({ type: Member, ...fieldOf(updateMember, { ids: ['organization', 'member'] }) }),
  removeMember: t.field({ type: Member, ...fieldOf(removeMember, { ids: ['organization', 'member'] }) }),
  createInvitation: t.field({ type: Invitation, ...fieldOf(createInvitation, { ids: ['organization'] }) }),
  withdrawInvitation: t.field({
    type: Invitation,
    ...fieldOf(withdrawInvitation, { ids: ['organization', 'invitation'] }),
  }),
  acceptInvitation: t.field({ type: Invitation, ...fieldOf(acceptInvitation, { ids: ['invitation'] }) }),
  createInviteLink: t.field({ type: CreatedLink, ...fieldOf(createInviteLink, { ids: ['organization'] }) }),
  revokeInviteLink: t.field({ type: InviteLink, ...fieldOf(revokeInviteLink, { ids: ['organization', 'link'] }) }),
  openInviteLink: t.field({ type: OpenInvite, ...fieldOf(openInviteLink) }),
  acceptInviteLink: t.field({ type: OpenInvite, ...fieldOf(acceptInviteLink) }),
  declineInvitation: t.field({ type: Invitation, ...fieldOf(declineInvitation, { ids: ['invitation'] }) }),
}))
